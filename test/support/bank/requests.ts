/** What the API Pix 2.9.0 and the providers' pages let a request hold: the fake bank refuses anything else. */

export type Fields = Record<string, unknown>;

/** What a request breaks, as the document's `violacoes`. */
export interface Violation {
  propriedade: string;
  razao: string;
}

const AMOUNT = /^\d{1,10}\.\d{2}$/;

class Checks {
  readonly violations: Violation[] = [];

  readonly body: Fields;
  readonly of: string;

  constructor(body: Fields, of: string) {
    this.body = body;
    this.of = of;
  }

  wrong(name: string, razao = 'não respeita o schema'): void {
    this.violations.push({ propriedade: `${this.of}.${name}`, razao });
  }

  /** No other fields than these. */
  only(fields: Fields, names: readonly string[], within = ''): void {
    for (const name of Object.keys(fields))
      if (!names.includes(name)) this.wrong(within + name, 'desconhecido');
  }

  object(name: string, required = true): Fields {
    const value = this.body[name];
    if (value === undefined && !required) return {};
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
    this.wrong(name);
    return {};
  }

  text(fields: Fields, name: string, form: RegExp, required = true, within = ''): void {
    const value = fields[name];
    if (value === undefined && !required) return;
    if (typeof value !== 'string' || !form.test(value)) this.wrong(within + name);
  }

  amount(fields: Fields, name: string, within = ''): void {
    this.text(fields, name, AMOUNT, true, within);
    if (/^0+\.00$/.test(String(fields[name]))) this.wrong(within + name, 'é zero');
  }
}

function atMost(length: number): RegExp {
  return new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${length}}$`, 'u');
}

export const TXID = /^[a-zA-Z0-9]{26,35}$/;
export const RETURN_ID = /^[a-zA-Z0-9]{1,35}$/;
export const END_TO_END_ID = /^[a-zA-Z0-9]{32}$/;

export function chargeViolations(body: Fields, keys: ReadonlySet<string>): Violation[] {
  const checks = new Checks(body, 'cob');
  checks.only(body, [
    'calendario',
    'devedor',
    'valor',
    'chave',
    'solicitacaoPagador',
    'infoAdicionais',
    'loc',
  ]);
  const { expiracao } = checks.object('calendario');
  if (!Number.isInteger(expiracao) || Number(expiracao) <= 0) checks.wrong('calendario.expiracao');
  const amount = checks.object('valor');
  checks.only(amount, ['original', 'modalidadeAlteracao'], 'valor.');
  checks.amount(amount, 'original', 'valor.');
  checks.text(body, 'chave', /^.{1,77}$/);
  if (typeof body.chave === 'string' && !keys.has(body.chave))
    checks.wrong('chave', 'não pertence a este usuário recebedor');
  checks.text(body, 'solicitacaoPagador', atMost(140), false);
  if (body.devedor !== undefined) {
    const debtor = checks.object('devedor');
    checks.only(debtor, ['cpf', 'cnpj', 'nome'], 'devedor.');
    checks.text(debtor, 'nome', atMost(200), true, 'devedor.');
    const isPerson = debtor.cnpj === undefined;
    checks.text(
      debtor,
      isPerson ? 'cpf' : 'cnpj',
      isPerson ? /^\d{11}$/ : /^[0-9A-Z]{14}$/,
      true,
      'devedor.',
    );
    if (!isPerson && debtor.cpf !== undefined) checks.wrong('devedor.cpf', 'ambos preenchidos');
  }
  return checks.violations;
}

export function revisionViolations(body: Fields): Violation[] {
  const checks = new Checks(body, 'cob');
  checks.text(body, 'status', /^REMOVIDA_PELO_USUARIO_RECEBEDOR$/);
  checks.only(body, ['status']);
  return checks.violations;
}

export function returnViolations(body: Fields): Violation[] {
  const checks = new Checks(body, 'devolucao');
  checks.only(body, ['valor', 'natureza', 'descricao']);
  checks.amount(body, 'valor');
  checks.text(body, 'natureza', /^(ORIGINAL|RETIRADA)$/, false);
  checks.text(body, 'descricao', atMost(140), false);
  return checks.violations;
}

export function webhookViolations(body: Fields): Violation[] {
  const checks = new Checks(body, 'webhook');
  checks.only(body, ['webhookUrl']);
  checks.text(body, 'webhookUrl', /^https:\/\/\S+$/);
  return checks.violations;
}

export function efiOrderViolations(body: Fields, keys: ReadonlySet<string>): Violation[] {
  const checks = new Checks(body, 'envio');
  checks.only(body, ['valor', 'pagador', 'favorecido']);
  checks.amount(body, 'valor');
  const payer = checks.object('pagador');
  checks.only(payer, ['chave', 'infoPagador'], 'pagador.');
  checks.text(payer, 'chave', /^.{1,77}$/, true, 'pagador.');
  if (!keys.has(String(payer.chave))) checks.wrong('pagador.chave');
  checks.text(payer, 'infoPagador', atMost(139), false, 'pagador.');
  const payee = checks.object('favorecido');
  checks.only(payee, ['chave'], 'favorecido.');
  checks.text(payee, 'chave', /^.{1,77}$/, true, 'favorecido.');
  return checks.violations;
}

export function interOrderViolations(body: Fields, raw: string): Violation[] {
  const checks = new Checks(body, 'pix');
  checks.only(body, ['valor', 'descricao', 'destinatario']);
  if (!/"valor":\d{1,10}\.\d{2}[,}]/.test(raw)) checks.wrong('valor');
  checks.text(body, 'descricao', atMost(140), false);
  const payee = checks.object('destinatario');
  checks.only(payee, ['tipo', 'chave'], 'destinatario.');
  checks.text(payee, 'tipo', /^CHAVE$/, true, 'destinatario.');
  checks.text(payee, 'chave', /^.{1,77}$/, true, 'destinatario.');
  return checks.violations;
}

/** The window and the pages of a list; null where they break the document. */
export function windowOf(
  query: URLSearchParams,
): { from: number; to: number; page: number; size: number } | null {
  const from = Date.parse(query.get('inicio') ?? '');
  const to = Date.parse(query.get('fim') ?? '');
  const page = Number(query.get('paginacao.paginaAtual') ?? 0);
  const size = Number(query.get('paginacao.itensPorPagina') ?? 100);
  const whole = Number.isInteger(page) && Number.isInteger(size);
  return !(from <= to) || !whole || page < 0 || size < 1 || size > 1000 ? null : { from, to, page, size };
}
