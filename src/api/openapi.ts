/** The OpenAPI 3.1 document, made from the schemas that check the requests. */
import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import {
  Applied,
  CallbackMessage,
  CallbackResult,
  Charge,
  cents,
  Delivery,
  ErrorObject,
  Transfer,
  uuid,
} from './openapi-results.ts';
import { ChargeSchema, MessageSchema, PaySchema, TransferSchema } from './schemas.ts';

const EVERY_ENDPOINT: Record<number, string> = {
  401: 'INVALID_CREDENTIALS',
  403: 'USER_INACTIVE, IP_NOT_ALLOWED or ACCOUNT_INACTIVE',
  405: 'METHOD_NOT_ALLOWED',
  429: 'RATE_LIMITED',
  500: 'INTERNAL_ERROR',
  503: 'SERVICE_UNAVAILABLE',
  504: 'TIMEOUT',
};

function json(schema: z.ZodType): { 'application/json': { schema: z.ZodType } } {
  return { 'application/json': { schema } };
}

interface Endpoint {
  method: 'get' | 'post';
  path: string;
  summary: string;
  body?: z.ZodType;
  /** The body may be left out. */
  bodyIsOptional?: true;
  query?: z.ZodObject;
  params?: z.ZodObject;
  status: number;
  result: z.ZodType;
  errors: Record<number, string>;
}

function routeOf(endpoint: Endpoint): RouteConfig {
  const { method, path, summary, body, query, params, status, result, errors } = endpoint;
  const responses: RouteConfig['responses'] = {
    [status]: { description: 'Success.', content: json(result) },
  };
  for (const [code, description] of Object.entries({ ...EVERY_ENDPOINT, ...errors })) {
    responses[code] = { description, content: json(ErrorObject) };
  }
  const request: NonNullable<RouteConfig['request']> = {};
  if (body !== undefined) request.body = { required: endpoint.bodyIsOptional !== true, content: json(body) };
  if (query !== undefined) request.query = query;
  if (params !== undefined) request.params = params;
  return { method, path, summary, security: [{ basic: [] }], request, responses };
}

const INVALID = { 400: 'INVALID_REQUEST or VALIDATION_ERROR', 413: 'PAYLOAD_TOO_LARGE' };
const LOOK_UP = { 400: 'INVALID_REQUEST or VALIDATION_ERROR', 404: 'TRANSACTION_NOT_FOUND' };

const ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/pix-in',
    summary: 'Create a PIX charge (QR code).',
    body: ChargeSchema,
    status: 201,
    result: Charge,
    errors: { ...INVALID, 502: 'PROCESSING_ERROR' },
  },
  {
    method: 'get',
    path: '/pix-in',
    summary: 'Look up a PIX IN transaction by id or externalRef.',
    query: z.object({ id: uuid.optional(), externalRef: z.string().optional() }),
    status: 200,
    result: Charge,
    errors: LOOK_UP,
  },
  {
    method: 'post',
    path: '/cashout',
    summary: 'Create a PIX transfer to a destination key.',
    body: TransferSchema,
    status: 201,
    result: Transfer,
    errors: {
      ...INVALID,
      400: 'INVALID_REQUEST, VALIDATION_ERROR or INSUFFICIENT_BALANCE',
      409: 'DUPLICATE_REQUEST',
      502: 'PROCESSING_ERROR',
    },
  },
  {
    method: 'get',
    path: '/cashout',
    summary: 'Look up a cashout transaction by id or reference.',
    query: z.object({ id: uuid.optional(), reference: z.string().optional() }),
    status: 200,
    result: Transfer,
    errors: LOOK_UP,
  },
  {
    method: 'get',
    path: '/balance',
    summary: 'Read the account balance.',
    status: 200,
    result: z.strictObject({ balance: cents, currency: z.literal('BRL') }),
    errors: {},
  },
  {
    method: 'get',
    path: '/webhooks',
    summary: 'Read the webhook delivery history of a transaction.',
    query: z.object({ transactionId: uuid }),
    status: 200,
    result: z.strictObject({ transactionId: uuid, data: z.array(Delivery).max(100) }),
    errors: LOOK_UP,
  },
];

const MESSAGE_ERRORS = { ...INVALID, 404: 'TRANSACTION_NOT_FOUND', 409: 'MESSAGE_NOT_ACCEPTED' };

const SANDBOX: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/sandbox/pix-in/{id}/pay',
    summary: 'Sandbox: pay a charge.',
    params: z.object({ id: uuid }),
    body: PaySchema,
    bodyIsOptional: true,
    status: 200,
    result: Applied,
    errors: MESSAGE_ERRORS,
  },
  {
    method: 'post',
    path: '/sandbox/transactions/{id}/messages',
    summary: 'Sandbox: send a transaction any message.',
    params: z.object({ id: uuid }),
    body: MessageSchema,
    status: 200,
    result: Applied,
    errors: MESSAGE_ERRORS,
  },
];

function callbacks(): RouteConfig {
  const errors = {
    400: 'INVALID_REQUEST or VALIDATION_ERROR',
    401: 'INVALID_CREDENTIALS',
    413: 'PAYLOAD_TOO_LARGE',
    503: 'SERVICE_UNAVAILABLE',
  };
  const responses: RouteConfig['responses'] = {
    200: { description: 'A result for each message, in order.', content: json(z.array(CallbackResult)) },
  };
  for (const [code, description] of Object.entries(errors))
    responses[code] = { description, content: json(ErrorObject) };
  return {
    method: 'post',
    path: '/bank/callbacks',
    summary: "The bank's messages, signed as Standard Webhooks.",
    security: [],
    request: { body: { required: true, content: json(z.array(CallbackMessage).max(500)) } },
    responses,
  };
}

/** The document as it is served at /openapi.json. */
export function openApiDocument(sandbox: boolean, hasCallbacks: boolean): object {
  const registry = new OpenAPIRegistry();
  registry.registerComponent('securitySchemes', 'basic', {
    type: 'http',
    scheme: 'basic',
    description: 'clientId and clientSecret.',
  });
  for (const endpoint of [...ENDPOINTS, ...(sandbox ? SANDBOX : [])])
    registry.registerPath(routeOf(endpoint));
  if (hasCallbacks) registry.registerPath(callbacks());
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Pixstate',
      version: '1',
      description: 'PIX receiving, PIX sending, balance and webhooks. Amounts are whole cents.',
    },
    servers: [{ url: '/v1' }],
  });
}
