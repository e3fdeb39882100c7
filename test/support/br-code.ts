/** One field of an EMV code: its two-digit id and its value. */
export type Fields = Map<string, string>;

/** Reads id, two-digit length, value triples; throws when they don't fill the text exactly. */
export function parseFields(code: string): Fields {
  const fields: Fields = new Map();
  let position = 0;
  while (position < code.length) {
    const header = code.slice(position, position + 4);
    if (!/^\d{4}$/.test(header)) throw new Error(`no field header at ${position} in ${code}`);
    const id = header.slice(0, 2);
    const end = position + 4 + Number(header.slice(2));
    if (end > code.length) throw new Error(`field ${id} is longer than the code ${code}`);
    if (fields.has(id)) throw new Error(`field ${id} stands twice in ${code}`);
    fields.set(id, code.slice(position + 4, end));
    position = end;
  }
  return fields;
}

/** The value of a field; throws when it isn't there. */
export function fieldOf(fields: Fields, id: string): string {
  const value = fields.get(id);
  if (value === undefined) throw new Error(`no field ${id}`);
  return value;
}

/** CRC-16/CCITT-FALSE as four upper-case hex digits. */
export function crc16(text: string): string {
  let crc = 0xffff;
  for (const byte of Buffer.from(text, 'utf8')) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ 0x1021) & 0xffff;
    }
  }
  return crc.toString(16).toUpperCase().padStart(4, '0');
}
