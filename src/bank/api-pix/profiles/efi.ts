/** Efí: the standard, and transfers under `/v3/gn/pix` (dev.efipay.com.br). */
import { centsOf, reaisText } from '../money-text.ts';
import {
  API_PIX_SCOPES,
  bare,
  basic,
  type Hint,
  JSON_TYPE,
  type Order,
  type Profile,
  type Sending,
  type SendingState,
  type SentReturn,
} from '../profile.ts';
import { type Answer, endToEndIdIn, firstCharacters, listIn, objectIn, textIn, timeIn } from '../reading.ts';

const CALLS_AT_ONCE = 100;
const DESCRIPTION_MOST = 139;

const STATES: Record<string, SendingState> = {
  EM_PROCESSAMENTO: 'started',
  REALIZADO: 'settled',
  NAO_REALIZADO: 'failed',
};

function bodyOf({ amount, from, to, description }: Order): string {
  const text = description === null ? '' : firstCharacters(description, DESCRIPTION_MOST);
  const pagador = { chave: from, ...(text === '' ? {} : { infoPagador: text }) };
  return JSON.stringify({ valor: reaisText(amount), pagador, favorecido: { chave: to } });
}

function returnOf(each: Answer): SentReturn[] {
  const returnId = textIn(each, 'rtrId');
  const id = textIn(each, 'id') ?? returnId;
  const amount = centsOf(each.valor);
  const isDone = textIn(each, 'status') === 'DEVOLVIDO';
  if (id === null || amount === null || amount === 0 || !isDone) return [];
  return [{ id, returnId, amount, reason: textIn(each, 'motivo') }];
}

function sendingOf(answer: Answer): Sending | null {
  const told = textIn(answer, 'status');
  if (told === null) return null;
  const extras = objectIn(answer, 'gnExtras');
  const id = textIn(answer, 'idEnvio') ?? textIn(extras, 'idEnvio');
  const times = objectIn(answer, 'horario');
  return {
    id,
    bankId: id,
    endToEndId: endToEndIdIn(answer, 'endToEndId') ?? endToEndIdIn(answer, 'e2eId'),
    amount: centsOf(answer.valor),
    state: STATES[told] ?? 'unknown',
    told,
    paidAt: timeIn(times, 'liquidacao') ?? timeIn(times, 'solicitacao') ?? timeIn(answer, 'horario'),
    reason: textIn(objectIn(extras, 'erro'), 'motivo') ?? textIn(answer, 'motivo'),
    returns: listIn(answer, 'devolucoes').flatMap(returnOf),
  };
}

function hintsOf(element: Answer): Hint[] {
  const id = textIn(objectIn(element, 'gnExtras'), 'idEnvio') ?? textIn(element, 'idEnvio');
  return id === null ? [] : [{ kind: 'sending', id }];
}

export const efi: Profile = {
  name: 'efi',
  apiPath: '/v2',
  tokenPath: '/oauth/token',
  scopes: API_PIX_SCOPES,
  tokenRequest: (credentials) => ({
    headers: { authorization: basic(credentials), 'content-type': JSON_TYPE },
    body: JSON.stringify({ grant_type: 'client_credentials' }),
  }),
  keyInPath: (key) => key,
  callsAtOnce: CALLS_AT_ONCE,
  sending: {
    scopes: ['pix.send', 'gn.pix.send.read'],
    // A second order is answered 409, `id_envio_duplicado`.
    repeat: 'safe',
    order: (order) => ({
      method: 'PUT',
      path: `/v3/gn/pix/${bare(order.id)}`,
      headers: { 'content-type': JSON_TYPE },
      body: bodyOf(order),
    }),
    readOrder: sendingOf,
    question: ({ id }) => ({ method: 'GET', path: `/v2/gn/pix/enviados/id-envio/${bare(id)}` }),
    readAnswer: sendingOf,
    namesPayee: (name) => name === 'chave_favorecido_nao_encontrada',
    listPath: '/v2/gn/pix/enviados',
  },
  hints: hintsOf,
};
