/** The OpenAPI 3.1 document, made from the schemas that check the requests. */
import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from '@asteasolutions/zod-to-openapi';
import * as z from 'zod';
import {
  CancelSchema,
  ChargeSchema,
  MessageSchema,
  PaySchema,
  RefundSchema,
  TransferSchema,
} from '../schemas.ts';
import { DEFAULT_ROWS, MOST_ROWS } from '../statement/query.ts';
import { WebhookEvent } from './events.ts';
import {
  Applied,
  Balance,
  CallbackMessage,
  CallbackResult,
  Charge,
  DeliveryList,
  ErrorObject,
  Refund,
  RefundList,
  Statement,
  Transfer,
  uuid,
} from './results.ts';

const EVERY_ENDPOINT: Record<number, string> = {
  400: 'INVALID_REQUEST',
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

const CSV = { 'text/csv': { schema: z.string() } };

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
  /** The result may come as CSV instead. */
  alsoCsv?: true;
  errors: Record<number, string>;
}

function routeOf(endpoint: Endpoint): RouteConfig {
  const { method, path, summary, body, query, params, status, result, alsoCsv, errors } = endpoint;
  const responses: RouteConfig['responses'] = {
    [status]: { description: 'Success.', content: { ...json(result), ...(alsoCsv === true ? CSV : {}) } },
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

function moment(description: string) {
  return z
    .union([z.iso.date(), z.iso.datetime({ offset: true })])
    .optional()
    .openapi({ description });
}

const ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/pix-in',
    summary: 'Create a PIX charge (QR code).',
    body: ChargeSchema,
    status: 201,
    result: Charge,
    errors: { ...INVALID, 409: 'DUPLICATE_REQUEST', 502: 'PROCESSING_ERROR' },
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
    path: '/pix-in/{id}/refunds',
    summary: 'Refund a charge, whole or in part.',
    params: z.object({ id: uuid }),
    body: RefundSchema,
    bodyIsOptional: true,
    status: 201,
    result: Refund,
    errors: {
      ...INVALID,
      400: 'INVALID_REQUEST, VALIDATION_ERROR or INSUFFICIENT_BALANCE',
      404: 'TRANSACTION_NOT_FOUND',
      409: 'DUPLICATE_REQUEST or REFUND_NOT_POSSIBLE',
      502: 'PROCESSING_ERROR',
    },
  },
  {
    method: 'get',
    path: '/pix-in/{id}/refunds',
    summary: 'List the refunds of a charge, newest first.',
    params: z.object({ id: uuid }),
    status: 200,
    result: RefundList,
    errors: { 404: 'TRANSACTION_NOT_FOUND' },
  },
  {
    method: 'get',
    path: '/refunds',
    summary: 'Look up a refund by id or idempotencyKey.',
    query: z.object({ id: uuid.optional(), idempotencyKey: z.string().optional() }),
    status: 200,
    result: Refund,
    errors: LOOK_UP,
  },
  {
    method: 'post',
    path: '/pix-in/{id}/cancel',
    summary: 'Cancel a charge that waits for its payment.',
    params: z.object({ id: uuid }),
    body: CancelSchema,
    bodyIsOptional: true,
    status: 200,
    result: Charge,
    errors: {
      ...INVALID,
      404: 'TRANSACTION_NOT_FOUND',
      409: 'MESSAGE_NOT_ACCEPTED',
      502: 'PROCESSING_ERROR',
    },
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
    result: Balance,
    errors: {},
  },
  {
    method: 'get',
    path: '/statement',
    summary: 'Read what changed the balance, oldest first.',
    query: z.object({
      from: moment('Inclusive; without it 24 hours before `to`.'),
      to: moment('Exclusive; without it now, or a little before: see the answer.'),
      limit: z.coerce.number().int().min(1).max(MOST_ROWS).default(DEFAULT_ROWS),
      cursor: z.string().optional().openapi({ description: 'The `nextCursor` of the page before.' }),
    }),
    status: 200,
    result: Statement,
    alsoCsv: true,
    errors: { 400: 'INVALID_REQUEST or VALIDATION_ERROR' },
  },
  {
    method: 'get',
    path: '/webhooks',
    summary: 'Read the webhook delivery history of a transaction.',
    query: z.object({ transactionId: uuid }),
    status: 200,
    result: DeliveryList,
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
    405: 'METHOD_NOT_ALLOWED',
    413: 'PAYLOAD_TOO_LARGE',
    500: 'INTERNAL_ERROR',
    503: 'SERVICE_UNAVAILABLE',
    504: 'TIMEOUT',
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

/** What is sent to the account's URLs. */
const WEBHOOK: RouteConfig = {
  method: 'post',
  path: 'event',
  summary: 'A status change, posted to the URLs of the account that want it, signed as Standard Webhooks.',
  security: [],
  request: { body: { required: true, content: json(WebhookEvent) } },
  responses: {
    200: { description: 'Any 2xx within 10 seconds confirms the receipt.' },
  },
};

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
  registry.registerWebhook(WEBHOOK);
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
