/** The merchants' API as the console shows and tries it: its document, and what is asked and answered of a try. */

/** A JSON Schema of the API's document, as far as the console reads it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: unknown[];
  example?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}

/** What is sent of a kind of content, by its type. */
export type Content = Record<string, { schema: Schema }>;

export interface Endpoint {
  summary: string;
  /** An empty list: it takes no credentials. */
  security?: object[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { description: string; content?: Content }>;
}

/** `/openapi.json`, by path and method in small letters. */
export interface ApiDocument {
  info: { description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Endpoint>>;
  webhooks?: Record<string, Record<string, Endpoint>>;
  components: { schemas: Record<string, Schema> };
}

/** `GET /console/api/reference`: the merchants' API. */
export interface ApiReference {
  document: ApiDocument;
  /** Where this machine reaches it. */
  base: string;
  /** Whether its endpoints can be tried: with the sandbox bank alone. */
  canTry: boolean;
}

/** `POST /console/api/try`, operators only: a request to the merchants' API in an account's name. */
export interface TryWish {
  method: string;
  /** As the document has it, with its parameters in braces. */
  path: string;
  params: Record<string, string>;
  query: Record<string, string>;
  /** The bytes as they are sent; null: none. */
  body: string | null;
  clientId: string;
  clientSecret: string;
}

/** What the API answered. */
export interface Tried {
  status: number;
  headers: [name: string, value: string][];
  body: string;
  ms: number;
}
