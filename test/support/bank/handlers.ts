/** What the fake bank does for each call, once the request is authentic: obeys the document, and nothing else. */
import { composeDynamicBrCode } from '../../../src/domain/br-code.ts';
import {
  chargeViolations,
  END_TO_END_ID,
  efiOrderViolations,
  type Fields,
  interOrderViolations,
  RETURN_ID,
  returnViolations,
  revisionViolations,
  TXID,
  type Violation,
  webhookViolations,
  windowOf,
} from './requests.ts';
import { type BankState, type FakeCharge, type FakeSending, shownPayment, shownReturn } from './state.ts';

export interface Reply {
  status: number;
  body?: Fields;
  headers?: Record<string, string>;
}

export interface Asked {
  /** What the path holds, decoded. */
  ids: string[];
  query: URLSearchParams;
  body: Fields;
  raw: string;
  headers: NodeJS.Dict<string | string[]>;
}

export interface BankOptions {
  /** Keys of the customer whose credentials are known. */
  keys: ReadonlySet<string>;
  /** Whether answers carry `pixCopiaECola`. */
  copyAndPaste: boolean;
  /** A second PUT of a txid is refused, as Efí does, and no revision. */
  refusesSecondPut: boolean;
  /** A path takes no phone with its plus, as Inter's doesn't. */
  refusesPlus: boolean;
}

export interface Route {
  /** `PUT cob` for one: what faults name. */
  name: string;
  method: string;
  path: RegExp;
  scope: string;
  handle(bank: Bench, asked: Asked): Reply;
}

/** What handlers work on. */
export interface Bench {
  state: BankState;
  options: BankOptions;
  /** What was done by this call stays hidden from questions for so long, ms. */
  hideMs: number;
  /** The bank's clock, ms since 1970. */
  now(): number;
  /** Every request that broke the document. */
  violations: { call: string; violations: Violation[] }[];
}

const ERRORS = 'https://pix.bcb.gov.br/api/v2/error/';

export function problem(status: number, name: string, violacoes: Violation[] = []): Reply {
  const body = { type: ERRORS + name, title: name, status, detail: name };
  return {
    status,
    body: violacoes.length === 0 ? body : { ...body, violacoes },
    headers: { 'content-type': 'application/problem+json' },
  };
}

/** What Efí says for the standard's 404s of these names: 400, in words of its own. */
const EFI_UNKNOWN: Record<string, string> = {
  ...{ CobNaoEncontrado: 'cobranca_nao_encontrada', PixNaoEncontrado: 'pix_nao_encontrado' },
  ...{
    PixDevolucaoNaoEncontrada: 'devolucao_nao_encontrada',
    WebhookNaoEncontrado: 'webhook_nao_encontrado',
  },
};

export function inWordsOfEfi(reply: Reply): Reply {
  const nome = EFI_UNKNOWN[String(reply.body?.title)];
  return reply.status === 404 && nome !== undefined ? { status: 400, body: { nome, mensagem: nome } } : reply;
}

function invalid(bank: Bench, call: string, name: string, violations: Violation[]): Reply {
  bank.violations.push({ call, violations });
  return problem(400, name, violations);
}

function shownCharge({ state, options }: Bench, charge: FakeCharge): Fields {
  const { txid, body, status, revisao, at, location } = charge;
  const pix = state.paymentsOf(txid).map(shownPayment);
  const calendario = { ...(body.calendario as Fields), criacao: new Date(at).toISOString() };
  const code = composeDynamicBrCode({ url: location, merchantName: 'LOJA', merchantCity: 'BRASILIA' });
  return {
    ...{ ...body, txid, status, revisao, location, calendario },
    ...(options.copyAndPaste ? { pixCopiaECola: code } : {}),
    ...(pix.length === 0 ? {} : { pix }),
  };
}

function putCharge(bank: Bench, { ids: [txid = ''], body }: Asked): Reply {
  const { state, options, hideMs } = bank;
  const violations = chargeViolations(body, options.keys);
  if (!TXID.test(txid)) violations.push({ propriedade: 'cob.txid', razao: 'não respeita o schema' });
  if (violations.length > 0) return invalid(bank, 'PUT cob', 'CobOperacaoInvalida', violations);
  const before = state.charges.get(txid);
  if (before !== undefined && options.refusesSecondPut)
    return { status: 409, body: { nome: 'txid_duplicado', mensagem: 'Campo txid já utilizado' } };
  if (before !== undefined && before.status !== 'ATIVA') return problem(400, 'CobOperacaoInvalida');
  const charge: FakeCharge = {
    ...{ txid, body, status: 'ATIVA', revisao: before === undefined ? 0 : before.revisao + 1 },
    ...{ at: before?.at ?? bank.now(), location: `pix.example.com/qr/v2/${txid}` },
    hiddenUntil: bank.now() + hideMs,
  };
  state.charges.set(txid, charge);
  return { status: 201, body: shownCharge(bank, charge) };
}

function chargeOf({ state, now }: Bench, txid: string): FakeCharge | null {
  const charge = state.charges.get(txid);
  return charge === undefined || charge.hiddenUntil > now() ? null : charge;
}

function getCharge(bank: Bench, { ids: [txid = ''] }: Asked): Reply {
  const charge = chargeOf(bank, txid);
  return charge === null
    ? problem(404, 'CobNaoEncontrado')
    : { status: 200, body: shownCharge(bank, charge) };
}

function listCharges(bank: Bench, { query }: Asked): Reply {
  const charges = within(bank.state.charges.values(), query);
  return (
    page(charges, (charge) => shownCharge(bank, charge), 'cobs', query) ??
    invalid(bank, 'LIST cob', 'CobConsultaInvalida', [{ propriedade: 'cobs', razao: 'parâmetros' }])
  );
}

function patchCharge(bank: Bench, { ids: [txid = ''], body }: Asked): Reply {
  const violations = revisionViolations(body);
  if (violations.length > 0) return invalid(bank, 'PATCH cob', 'CobOperacaoInvalida', violations);
  const charge = chargeOf(bank, txid);
  if (charge === null) return problem(404, 'CobNaoEncontrado');
  if (charge.status !== 'ATIVA') return problem(400, 'CobOperacaoInvalida');
  charge.status = 'REMOVIDA_PELO_USUARIO_RECEBEDOR';
  charge.revisao += 1;
  return { status: 200, body: shownCharge(bank, charge) };
}

function page<Item>(
  items: readonly Item[],
  shown: (item: Item) => Fields,
  name: string,
  query: URLSearchParams,
): Reply | null {
  const window = windowOf(query);
  if (window === null) return null;
  const first = window.page * window.size;
  const paginacao = {
    ...{ paginaAtual: window.page, itensPorPagina: window.size },
    quantidadeDePaginas: Math.max(1, Math.ceil(items.length / window.size)),
    quantidadeTotalDeItens: items.length,
  };
  const parametros = { inicio: query.get('inicio'), fim: query.get('fim'), paginacao };
  return { status: 200, body: { parametros, [name]: items.slice(first, first + window.size).map(shown) } };
}

function within<Item extends { at: number }>(items: Iterable<Item>, query: URLSearchParams): Item[] {
  const window = windowOf(query);
  if (window === null) return [];
  return [...items]
    .filter(({ at }) => at >= window.from && at <= window.to)
    .sort((one, other) => one.at - other.at);
}

function listPayments(bank: Bench, { query }: Asked): Reply {
  const wantsReturns = query.get('devolucaoPresente');
  const payments = within(bank.state.payments.values(), query).filter(
    ({ returns }) => wantsReturns === null || returns.length > 0 === (wantsReturns === 'true'),
  );
  return (
    page(payments, shownPayment, 'pix', query) ??
    invalid(bank, 'LIST pix', 'PixConsultaInvalida', [{ propriedade: 'pix', razao: 'parâmetros' }])
  );
}

function getPayment({ state }: Bench, { ids: [id = ''] }: Asked): Reply {
  const payment = state.payments.get(id);
  return payment === undefined
    ? problem(404, 'PixNaoEncontrado')
    : { status: 200, body: shownPayment(payment) };
}

function centsIn(text: string): number {
  return Number(text.replace('.', ''));
}

function putReturn(bank: Bench, { ids: [payId = '', id = ''], body }: Asked): Reply {
  const { state } = bank;
  const violations = returnViolations(body);
  if (!RETURN_ID.test(id) || !END_TO_END_ID.test(payId))
    violations.push({ propriedade: 'devolucao.id', razao: 'não respeita o schema' });
  if (violations.length > 0) return invalid(bank, 'PUT devolucao', 'PixDevolucaoInvalida', violations);
  const payment = state.payments.get(payId);
  if (payment === undefined) return problem(404, 'PixNaoEncontrado');
  if (payment.returns.some((each) => each.id === id)) return problem(400, 'PixDevolucaoInvalida');
  const valor = String(body.valor);
  const returned = payment.returns
    .filter(({ status }) => status !== 'NAO_REALIZADO')
    .reduce((sum, each) => sum + centsIn(each.valor), 0);
  if (returned + centsIn(valor) > centsIn(payment.valor)) return problem(400, 'PixDevolucaoInvalida');
  const at = bank.now();
  const hidden = bank.hideMs === 0 ? {} : { hiddenUntil: at + bank.hideMs };
  const made = { id, rtrId: state.id('D', at), valor, natureza: 'ORIGINAL', at } as const;
  payment.returns.push({ ...made, ...hidden, status: 'EM_PROCESSAMENTO' });
  return { status: 201, body: shownReturn({ ...made, status: 'EM_PROCESSAMENTO' }) };
}

function getReturn({ state, now }: Bench, { ids: [payId = '', id = ''] }: Asked): Reply {
  const found = state.payments.get(payId)?.returns.find((each) => each.id === id);
  return found === undefined || (found.hiddenUntil ?? 0) > now()
    ? problem(404, 'PixDevolucaoNaoEncontrada')
    : { status: 200, body: shownReturn(found) };
}

/** The customer's key that a path names; null where it names none. */
function keyIn({ options: { keys, refusesPlus } }: Bench, named: string): string | null {
  if (!refusesPlus) return keys.has(named) ? named : null;
  return [...keys].find((key) => key.replace('+', '') === named) ?? null;
}

function putWebhook(bank: Bench, { ids: [named = ''], body }: Asked): Reply {
  const violations = webhookViolations(body);
  if (violations.length > 0) return invalid(bank, 'PUT webhook', 'WebhookOperacaoInvalida', violations);
  const key = keyIn(bank, named);
  if (key === null) return problem(403, 'AcessoNegado');
  bank.state.webhooks.set(key, String(body.webhookUrl));
  return { status: 200 };
}

function getWebhook(bank: Bench, { ids: [named = ''] }: Asked): Reply {
  const key = keyIn(bank, named);
  if (key === null) return problem(403, 'AcessoNegado');
  const webhookUrl = bank.state.webhooks.get(key);
  if (webhookUrl === undefined) return problem(404, 'WebhookNaoEncontrado');
  return { status: 200, body: { webhookUrl, chave: key, criacao: new Date(bank.now()).toISOString() } };
}

function deleteWebhook(bank: Bench, { ids: [named = ''] }: Asked): Reply {
  const isThere = bank.state.webhooks.delete(keyIn(bank, named) ?? '');
  return isThere ? { status: 204 } : problem(404, 'WebhookNaoEncontrado');
}

export const STANDARD_ROUTES: readonly Route[] = [
  { name: 'PUT cob', method: 'PUT', path: /^\/cob\/([^/]+)$/, scope: 'cob.write', handle: putCharge },
  { name: 'LIST cob', method: 'GET', path: /^\/cob$/, scope: 'cob.read', handle: listCharges },
  { name: 'GET cob', method: 'GET', path: /^\/cob\/([^/]+)$/, scope: 'cob.read', handle: getCharge },
  { name: 'PATCH cob', method: 'PATCH', path: /^\/cob\/([^/]+)$/, scope: 'cob.write', handle: patchCharge },
  { name: 'LIST pix', method: 'GET', path: /^\/pix$/, scope: 'pix.read', handle: listPayments },
  { name: 'GET pix', method: 'GET', path: /^\/pix\/([^/]+)$/, scope: 'pix.read', handle: getPayment },
  {
    ...{ name: 'PUT devolucao', method: 'PUT', path: /^\/pix\/([^/]+)\/devolucao\/([^/]+)$/ },
    ...{ scope: 'pix.write', handle: putReturn },
  },
  {
    ...{ name: 'GET devolucao', method: 'GET', path: /^\/pix\/([^/]+)\/devolucao\/([^/]+)$/ },
    ...{ scope: 'pix.read', handle: getReturn },
  },
  {
    ...{ name: 'PUT webhook', method: 'PUT', path: /^\/webhook\/([^/]+)$/ },
    ...{ scope: 'webhook.write', handle: putWebhook },
  },
  {
    ...{ name: 'GET webhook', method: 'GET', path: /^\/webhook\/([^/]+)$/ },
    ...{ scope: 'webhook.read', handle: getWebhook },
  },
  {
    ...{ name: 'DELETE webhook', method: 'DELETE', path: /^\/webhook\/([^/]+)$/ },
    ...{ scope: 'webhook.write', handle: deleteWebhook },
  },
];

function newSending(bank: Bench, id: string, valor: string, to: string, raw: string): FakeSending {
  const at = bank.now();
  const endToEndId = bank.state.id('E', at);
  const bankId = `${id}-bank`;
  const made = { id, bankId, endToEndId, valor, to, raw, at, settledAt: null, returns: [] };
  return { ...made, status: 'EM_PROCESSAMENTO', hiddenUntil: at + bank.hideMs };
}

function shownSending({ id, endToEndId, valor, status, at, settledAt, returns }: FakeSending): Fields {
  const solicitacao = new Date(at).toISOString();
  const horario =
    settledAt === null ? { solicitacao } : { solicitacao, liquidacao: new Date(settledAt).toISOString() };
  const devolucoes = returns.map(shownReturn);
  return { endToEndId, idEnvio: id, valor, status, horario, ...(returns.length === 0 ? {} : { devolucoes }) };
}

function putSending(bank: Bench, { ids: [id = ''], body, raw }: Asked): Reply {
  const violations = efiOrderViolations(body, bank.options.keys);
  if (!/^[a-zA-Z0-9]{1,35}$/.test(id)) violations.push({ propriedade: 'idEnvio', razao: 'schema' });
  if (violations.length > 0) {
    bank.violations.push({ call: 'PUT envio', violations });
    return { status: 400, body: { nome: 'valor_invalido', mensagem: JSON.stringify(violations) } };
  }
  if (bank.state.sendings.has(id)) return { status: 409, body: { nome: 'id_envio_duplicado', mensagem: '' } };
  const to = String((body.favorecido as Fields).chave);
  if (to === 'ninguem@example.com')
    return { status: 404, body: { nome: 'chave_favorecido_nao_encontrada', mensagem: '' } };
  const made = newSending(bank, id, String(body.valor), to, raw);
  bank.state.sendings.set(id, made);
  const { endToEndId, ...rest } = shownSending(made);
  return { status: 201, body: { ...rest, e2eId: endToEndId } };
}

function getSending({ state, now }: Bench, { ids: [id = ''] }: Asked): Reply {
  const found = state.sendings.get(id);
  if (found === undefined || found.hiddenUntil > now()) return problem(404, 'PixEnviadoNaoEncontrado');
  return { status: 200, body: shownSending(found) };
}

function listSendings(bank: Bench, { query }: Asked): Reply {
  const found = within(bank.state.sendings.values(), query);
  return page(found, shownSending, 'pix', query) ?? problem(400, 'PixConsultaInvalida');
}

export const EFI_ROUTES: readonly Route[] = [
  {
    name: 'PUT envio',
    method: 'PUT',
    path: /^\/v3\/gn\/pix\/([^/]+)$/,
    scope: 'pix.send',
    handle: putSending,
  },
  {
    ...{ name: 'GET envio', method: 'GET', path: /^\/v2\/gn\/pix\/enviados\/id-envio\/([^/]+)$/ },
    ...{ scope: 'gn.pix.send.read', handle: getSending },
  },
  {
    ...{ name: 'LIST envio', method: 'GET', path: /^\/v2\/gn\/pix\/enviados$/ },
    ...{ scope: 'gn.pix.send.read', handle: listSendings },
  },
];

function orderedAtInter({ bankId, endToEndId }: FakeSending): Reply {
  return {
    status: 200,
    body: { tipoRetorno: 'PROCESSADO', codigoSolicitacao: bankId, endToEndId },
  };
}

function postSending(bank: Bench, { body, raw, headers }: Asked): Reply {
  const id = String(headers['x-id-idempotente'] ?? '');
  const violations = interOrderViolations(body, raw);
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
    violations.push({ propriedade: 'x-id-idempotente', razao: 'UUID' });
  if (violations.length > 0) return invalid(bank, 'POST envio', 'RequisicaoInvalida', violations);
  const before = bank.state.sendings.get(id);
  if (before !== undefined) return orderedAtInter(before);
  const valor = /"valor":([\d.]+)/.exec(raw)?.[1] ?? '';
  const made = newSending(bank, id, valor, String((body.destinatario as Fields).chave), raw);
  bank.state.sendings.set(id, { ...made, status: 'CRIADO' });
  return orderedAtInter(made);
}

function getSendingAtInter({ state }: Bench, { ids: [bankId = ''] }: Asked): Reply {
  const found = [...state.sendings.values()].find((each) => each.bankId === bankId);
  if (found === undefined) return problem(404, 'PagamentoNaoEncontrado');
  const { endToEndId, valor, status, settledAt } = found;
  const moved = settledAt === null ? {} : { dataHoraMovimento: new Date(settledAt).toISOString() };
  const about = { codigoSolicitacao: bankId, endToEnd: endToEndId, valor: Number(valor), status, ...moved };
  return { status: 200, body: { transacaoPix: about, historico: [] } };
}

export const INTER_ROUTES: readonly Route[] = [
  {
    ...{ name: 'POST envio', method: 'POST', path: /^\/banking\/v2\/pix$/ },
    ...{ scope: 'pagamento-pix.write', handle: postSending },
  },
  {
    ...{ name: 'GET envio', method: 'GET', path: /^\/banking\/v2\/pix\/([^/]+)$/ },
    ...{ scope: 'pagamento-pix.read', handle: getSendingAtInter },
  },
];
