/** Fields with their types and limits. */
import type { ApiDocument, Schema } from '../../../api-shapes.ts';
import { fill } from '../../state/preferences.ts';
import { fieldsOf } from './document.ts';
import { type ReferenceWords, useReferenceWords } from './words.ts';

/** What a schema allows, a part each. */
function limitsOf(words: ReferenceWords, schema: Schema): string[] {
  const { minLength, maxLength, minimum: min, maximum: max, maxItems, maxProperties, enum: values } = schema;
  const { limit } = words;
  const parts: string[] = [];
  if (minLength !== undefined && maxLength !== undefined)
    parts.push(fill(limit.length, { min: minLength, max: maxLength }));
  else if (maxLength !== undefined) parts.push(fill(limit.longest, { max: maxLength }));
  if (min !== undefined && max !== undefined) parts.push(fill(limit.range, { min, max }));
  else if (min !== undefined) parts.push(fill(limit.least, { min }));
  else if (max !== undefined) parts.push(fill(limit.most, { max }));
  if (maxItems !== undefined) parts.push(fill(limit.items, { max: maxItems }));
  if (maxProperties !== undefined) parts.push(fill(limit.keys, { max: maxProperties }));
  if (values !== undefined)
    parts.push(fill(values.length === 1 ? limit.only : limit.oneOf, { values: values.join(', ') }));
  if (schema.default !== undefined) parts.push(fill(limit.usual, { value: String(schema.default) }));
  if (typeof schema.example === 'string') parts.push(fill(limit.like, { value: schema.example }));
  return parts;
}

interface FieldProps {
  name: string;
  schema: Schema;
  types: readonly string[];
  isRequired: boolean;
  /** What stands beside the type. */
  where?: string;
}

export function FieldItem({ name, schema, types, isRequired, where }: FieldProps) {
  const words = useReferenceWords();
  const type = types.join(' | ') + (schema.format === undefined ? '' : ` (${schema.format})`);
  const limits = limitsOf(words, schema);
  return (
    <li>
      <p class="field-name">
        <code>{name}</code> <span class="weak">{where === undefined ? type : `${type}, ${where}`}</span>
        {isRequired ? <span class="required">{words.required}</span> : null}
      </p>
      <div>
        {limits.length === 0 ? null : <p class="weak limits">{limits.join(' · ')}</p>}
        {schema.description === undefined ? null : <p lang="en">{schema.description}</p>}
      </div>
    </li>
  );
}

interface FieldsProps {
  document: ApiDocument;
  schema: Schema;
  /** Whoever reads them writes them, and is told which must be there. */
  isAsked?: boolean;
}

export function Fields({ document, schema, isAsked = false }: FieldsProps) {
  const words = useReferenceWords();
  const fields = fieldsOf(document, schema);
  if (fields.length === 0) return <p class="empty">{words.noFields}</p>;
  return (
    <ul class="fields">
      {fields.map((field, index) =>
        'variant' in field ? (
          <li key={field.variant} class="variant">
            {fill(words.variant, { name: field.variant })}
          </li>
        ) : (
          <FieldItem
            // Variants have fields of one path, and the list never changes.
            key={index}
            name={field.path}
            schema={field.schema}
            types={field.types}
            isRequired={isAsked && field.isRequired}
          />
        ),
      )}
    </ul>
  );
}
