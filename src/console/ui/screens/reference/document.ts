/** The API's document made plain: endpoints in a list, fields by their paths, and requests as they may be sent. */
import type { ApiDocument, Content, Endpoint, Schema } from '../../../api-shapes.ts';

/** One endpoint, or one kind of webhook. */
export interface Operation {
  /** Names it in an address: `post-pix-in`. */
  slug: string;
  method: string;
  path: string;
  endpoint: Endpoint;
  isWebhook: boolean;
  /** It takes an account's credentials. */
  isOpen: boolean;
}

function listed(paths: ApiDocument['paths'], isWebhook: boolean): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, endpoint]) => ({
      slug: `${isWebhook ? 'webhook' : method}-${path.replace(/\W+/g, '-').replace(/^-|-$/g, '')}`,
      ...{ method, path, endpoint, isWebhook, isOpen: !isWebhook && endpoint.security?.length !== 0 },
    })),
  );
}

export function operationsOf({ paths, webhooks = {} }: ApiDocument): Operation[] {
  return [...listed(paths, false), ...listed(webhooks, true)];
}

/** A field of a body, or a variant of it: then all fields that follow are that variant's own. */
export type Field =
  | { path: string; schema: Schema; types: string[]; isRequired: boolean }
  | { variant: string };

/** Deeper than any of the document, and no way round for ever. */
const MOST_DEPTH = 8;

/** A schema by its name, and what stands beside the name; variants but for null. */
function resolved(
  { components }: ApiDocument,
  schema: Schema,
): { schema: Schema; name: string; types: string[] } {
  const name = schema.$ref?.split('/').at(-1) ?? '';
  const { $ref, ...beside } = schema;
  const own: Schema = $ref === undefined ? schema : { ...components.schemas[name], ...beside };
  const alternatives = own.anyOf ?? [];
  const [only, ...others] = alternatives.filter(({ type }) => type !== 'null');
  if (only !== undefined && others.length === 0 && alternatives.length > 1) {
    const { anyOf, ...rest } = own;
    const inner = resolved({ components } as ApiDocument, only);
    return { schema: { ...inner.schema, ...rest }, name: inner.name, types: [...inner.types, 'null'] };
  }
  return { schema: own, name, types: typesOf(own) };
}

function typesOf({ type, oneOf, anyOf, properties, enum: values }: Schema): string[] {
  if (type !== undefined) return [type].flat();
  const inner = (oneOf ?? anyOf ?? []).flatMap(typesOf);
  if (inner.length > 0) return [...new Set(inner)];
  return properties !== undefined ? ['object'] : values !== undefined ? ['string'] : ['any'];
}

/** The fields of a schema, those of objects within it by their paths: `pix.pixKey`, `data[].id`. */
export function fieldsOf(document: ApiDocument, given: Schema, path = '', depth = 0): Field[] {
  const { schema } = resolved(document, given);
  if (depth > MOST_DEPTH) return [];
  const below = (each: Schema, at: string): Field[] => fieldsOf(document, each, at, depth + 1);
  if (schema.items !== undefined) return below(schema.items, `${path}[]`);
  if (schema.allOf !== undefined) return schema.allOf.flatMap((each) => below(each, path));
  const isObject = (each: Schema): boolean => resolved(document, each).schema.properties !== undefined;
  if (schema.oneOf?.every(isObject))
    return schema.oneOf.flatMap((each) => [{ variant: resolved(document, each).name }, ...below(each, path)]);
  const start = path === '' ? '' : `${path}.`;
  return Object.entries(schema.properties ?? {}).flatMap(([name, each]) => {
    const { schema: inner, types } = resolved(document, each);
    const isRequired = schema.required?.includes(name) === true;
    return [{ path: start + name, schema: inner, types, isRequired }, ...below(each, start + name)];
  });
}

/** The schema of a body in JSON; null where there is none. */
export function jsonOf(content: Content | undefined): Schema | null {
  return content?.['application/json']?.schema ?? null;
}

/** A value that the schema takes: its example, or the least that it asks for. */
export function exampleOf(document: ApiDocument, given: Schema): unknown {
  const { schema, types } = resolved(document, given);
  if (schema.example !== undefined) return schema.example;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0];
  if (types.includes('array')) return schema.items === undefined ? [] : [exampleOf(document, schema.items)];
  if (types.includes('integer') || types.includes('number')) return schema.minimum ?? 0;
  if (!types.includes('object')) return '';
  const { properties = {}, required = [] } = schema;
  // Of what may be left out, only what has an example of its own.
  const shown = Object.entries(properties).filter(
    ([name, each]) => required.includes(name) || each.example !== undefined,
  );
  return Object.fromEntries(shown.map(([name, each]) => [name, exampleOf(document, each)]));
}

/** The codes in an error's description. */
export function codesOf(description: string): string[] {
  return description.match(/\b[A-Z][A-Z_]{3,}\b/g) ?? [];
}

/** What is sent to an endpoint. */
export interface Sending {
  params: Record<string, string>;
  query: Record<string, string>;
  body: string | null;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The same with curl; the credentials stand in a variable, `clientId:clientSecret`. */
export function curlOf(
  base: string,
  { method, path, isOpen }: Operation,
  { params, query, body }: Sending,
): string {
  const filled = path.replace(/\{(\w+)\}/g, (place, name: string) => {
    const value = params[name] ?? '';
    return value === '' ? place : encodeURIComponent(value);
  });
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
  const lines = [`curl -s${isOpen ? ' -u "$PIXSTATE"' : ''} ${quoted(base + filled + search)}`];
  if (body === null && method === 'post') lines.push('-X POST');
  if (body !== null) lines.push("-H 'Content-Type: application/json'", `-d ${quoted(body)}`);
  return lines.join(' \\\n  ');
}
