/** Makes plain JSON, to its depth, a value that nobody changes. */
export function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const name in value) frozen(value[name]);
  return Object.freeze(value);
}
