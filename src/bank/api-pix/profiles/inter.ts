/** Inter: the standard under `/pix/v2`, and transfers under `/banking/v2/pix` (developers.inter.co). */
import { centsOf, reaisText } from '../money-text.ts';
import {
  API_PIX_SCOPES,
  FORM,
  JSON_TYPE,
  type Order,
  type Profile,
  type Sending,
  type SendingState,
} from '../profile.ts';
import { type Answer, endToEndIdIn, firstCharacters, listIn, objectIn, textIn, timeIn } from '../reading.ts';

const CALLS_AT_ONCE = 64;
const DESCRIPTION_MOST = 140;
const SCOPES = ['pagamento-pix.write', 'pagamento-pix.read'];

const STATES: Record<string, SendingState> = {
  CRIADO: 'waiting',
  // A person at the merchant's bank app has to say yes.
  AGUARDANDO_APROVACAO: 'waiting',
  APROVADO: 'waiting',
  TRANSACAO_CRIADA: 'waiting',
  TRANSACAO_APROVADA: 'waiting',
  ENVIADO: 'started',
  PIX_ENVIADO: 'started',
  PAGO: 'settled',
  PIX_PAGO: 'settled',
  FALHA: 'failed',
  REPROVADO: 'rejected',
  CANCELADO_SEM_SALDO: 'rejected',
  EXPIRADO: 'rejected',
  CANCELADO: 'canceled',
};

/** The amount is a JSON number, written from the cents' digits. */
function bodyOf({ amount, to, description }: Order): string {
  const text = description === null ? '' : firstCharacters(description, DESCRIPTION_MOST);
  const described = text === '' ? '' : `"descricao":${JSON.stringify(text)},`;
  const payee = JSON.stringify({ tipo: 'CHAVE', chave: to });
  return `{"valor":${reaisText(amount)},${described}"destinatario":${payee}}`;
}

/** The first answer says what kind it is (`tipoRetorno`), and not where the transfer stands: that is asked. */
function orderedOf(answer: Answer): Sending | null {
  const bankId = textIn(answer, 'codigoSolicitacao');
  const told = textIn(answer, 'tipoRetorno');
  if (bankId === null) return null;
  const endToEndId = endToEndIdIn(answer, 'endToEndId');
  const unsaid = { id: null, amount: null, paidAt: null, reason: null, returns: [] };
  return { ...unsaid, bankId, endToEndId, state: 'waiting', told: told ?? 'ordered' };
}

function sendingOf(answer: Answer): Sending | null {
  const about = objectIn(answer, 'transacaoPix') ?? answer;
  const told = textIn(about, 'status');
  if (told === null) return null;
  return {
    id: null,
    bankId: textIn(about, 'codigoSolicitacao'),
    endToEndId: endToEndIdIn(about, 'endToEnd') ?? endToEndIdIn(about, 'endToEndId'),
    amount: centsOf(about.valor),
    state: STATES[told] ?? 'unknown',
    told,
    // Not every answer says when the money moved; when it was asked for, all do.
    paidAt: timeIn(about, 'dataHoraMovimento') ?? timeIn(about, 'dataHoraSolicitacao'),
    reason: textIn(listIn(about, 'erros')[0] ?? null, 'descricaoErro'),
    returns: [],
  };
}

export const inter: Profile = {
  name: 'inter',
  apiPath: '/pix/v2',
  tokenPath: '/oauth/v2/token',
  scopes: API_PIX_SCOPES,
  tokenRequest: ({ clientId, clientSecret }) => ({
    headers: { 'content-type': FORM },
    body: new URLSearchParams({
      client_id: clientId,
      client_secret: clientSecret,
      grant_type: 'client_credentials',
      scope: [...API_PIX_SCOPES, ...SCOPES].join(' '),
    }).toString(),
  }),
  // Phones without their plus.
  keyInPath: (key) => key.replace(/^\+/, ''),
  callsAtOnce: CALLS_AT_ONCE,
  sending: {
    scopes: SCOPES,
    // The same id is answered as the first time, and paid once.
    repeat: 'safe',
    order: (order) => ({
      method: 'POST',
      path: '/banking/v2/pix',
      headers: { 'content-type': JSON_TYPE, 'x-id-idempotente': order.id },
      body: bodyOf(order),
    }),
    readOrder: orderedOf,
    question: ({ bankId }) =>
      bankId === null ? null : { method: 'GET', path: `/banking/v2/pix/${encodeURIComponent(bankId)}` },
    readAnswer: sendingOf,
    namesPayee: () => false,
    listPath: null,
  },
  hints: () => [],
};
