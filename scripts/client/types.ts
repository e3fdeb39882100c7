/** The types of `pixstate/client`, made from the schemas of the OpenAPI document. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { openApiDocument } from '../../src/api/openapi/document.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Where they lie. */
export const TYPES_FILE = 'src/client/types.ts';

const HEADER = `/** Made from the OpenAPI document by \`npm run client:types\`: don't change it by hand. */`;

const COMPONENTS = '#/components/schemas/';

/** A schema with its references as JSON Schema has them. */
function withDefinitions<Value>(schema: Value): Value {
  return JSON.parse(JSON.stringify(schema).replaceAll(COMPONENTS, '#/$defs/')) as Value;
}

/** Without what the generator says of its own input, and with short comments on a line of their own. */
function tidied(source: string): string {
  return source
    .replace(/^export interface Schemas \{[^}]*\}\n/m, '')
    .replace(
      /(?: \* *\n)? \* This interface was referenced by `Schemas`'s JSON-Schema\n \* via the `definition` "\w+"\.\n/g,
      '',
    )
    .replace(/\n? +\* @maxItems \d+(?=\n)/g, '')
    .replace(/\n \* *(?=\n \*\/)/g, '')
    .replace(/\/\*\*\s+\*\/\n/g, '')
    .replace(/\/\*\*\n\s+\* (.*)\n\s+\*\//g, '/** $1 */');
}

function formatted(source: string): string {
  const biome = join(root, 'node_modules', '.bin', 'biome');
  return execFileSync(biome, ['check', '--write', `--stdin-file-path=${TYPES_FILE}`], {
    cwd: root,
    input: source,
    encoding: 'utf8',
  });
}

/** The source of `src/client/types.ts`: one exported type for each schema of the document, the sandbox's too. */
export async function clientTypes(): Promise<string> {
  const { components } = openApiDocument(true, false) as {
    components: { schemas: Record<string, JSONSchema> };
  };
  const definitions: JSONSchema = { $defs: withDefinitions(components.schemas) };
  const source = await compile(definitions, 'Schemas', {
    additionalProperties: false,
    bannerComment: HEADER,
    format: false,
    ignoreMinAndMaxItems: true,
    unreachableDefinitions: true,
    unknownAny: true,
  });
  return formatted(tidied(source));
}
