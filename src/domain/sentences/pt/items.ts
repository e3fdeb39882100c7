/** What needs a person, in Portuguese. Commands, states and messages keep their names. */
import {
  inspect,
  LONGEST_WHAT,
  refundFailed,
  refundOutcome,
  retrySince,
  send,
  takenBack,
} from '../commands.ts';
import type { BatchFault, Facts, ItemData, ItemWords, ListedKind, Sentences } from '../item-codes.ts';
import { countedReturn } from '../kept.ts';
import type { RefusalData } from '../refusal-codes.ts';
import { refusalIn } from '../refusals.ts';
import { reais, THE, TO_THE } from './words.ts';

/** That an order hasn't ended, in the bank's own word where somebody has heard one. */
function unended(bank: string | null): string {
  return bank === null
    ? 'não se sabe como terminou'
    : `não se sabe como terminou; a palavra do banco é ${bank}`;
}

function why({ refusal, details, reason }: ItemData['MESSAGE_REFUSED' | 'PAYMENT_GIVEN_BACK']): string {
  return refusalIn('pt', { code: refusal, data: details, text: reason });
}

/** What helps where a return that counts already was to end a refund besides. */
function counted(
  transaction: string | null,
  { refundId, returnId, status }: RefusalData['RETURN_COUNTED'],
): string {
  const shows = `${inspect(transaction)} mostra as duas`;
  if (status === 'pending')
    return `pergunte ao banco com qual id ele fez a devolução: se foi ${returnId}, ${send(transaction, refundFailed(refundId))} restitui o que ela debita a mais, e o lojista, que vê a falha, deve saber que ela foi feita; se foi outro, REFUND_DONE com esse returnId; ${shows}`;
  if (status === 'completed')
    return `pergunte ao banco quantas vezes ele pagou: se foi uma, npx pixstate account adjust restitui ao lojista o que foi debitado em dobro; ${shows}`;
  return `pergunte ao banco quantas vezes ele pagou; ${shows}`;
}

function refused({ about, data }: Facts<'MESSAGE_REFUSED' | 'MESSAGE_INVALID'>): Sentences {
  const { type, message, messageId } = data;
  const what = `${message} (${messageId}) ${TO_THE[type]} ${about.transaction}: ${why(data)}`;
  const known = countedReturn(data);
  return { what, next: known === null ? inspect(about.transaction) : counted(about.transaction, known) };
}

function stuck(answers: string): (facts: Facts<'TRANSFER_STUCK' | 'ANALYSIS_STUCK'>) => Sentences {
  return ({ id, since, data: { type, state, bank } }) => ({
    what: `${THE[type]} ${id} está no estado ${state} desde ${since}: ${unended(bank)}`,
    next: `pergunte ao banco; depois, ${send(id, answers)}; ${inspect(id)} mostra o caso`,
  });
}

function atTheBank(next: string): (facts: Facts<'BANK_PATH'>) => Sentences {
  return ({ data: { call, message } }) => ({
    what: `${call} no banco: ${message}`,
    next: `${next}; npx pixstate bank check`,
  });
}

function certificate(state: string): (facts: Facts<'BANK_CERTIFICATE_EXPIRED'>) => Sentences {
  return ({ data: { at } }) => ({
    what: `o certificado do cliente ${state} ${at}`,
    next: 'renove o certificado do cliente no banco; npx pixstate bank check',
  });
}

function differs(what: string): Sentences {
  return { what, next: 'npx pixstate bank reconcile mostra o dia inteiro; pergunte ao banco' };
}

function otherAmount({ listed, booked }: { listed: number; booked: number }): string {
  return `o banco lista ${reais(listed)}, e aqui foram registrados ${reais(booked)}`;
}

/** The name of a payment, where it has one. */
function named(endToEndId: string | null): string {
  return endToEndId ?? 'sem end-to-end id';
}

const FAULTS: Readonly<Record<BatchFault, string>> = {
  content: 'o conteúdo não é o que o hash diz',
  missing: 'o lote anterior não está lá',
  chain: 'não está encadeado ao lote anterior',
  time: 'a hora é anterior à do lote anterior',
  sum: 'os lançamentos de um registro não somam zero',
  balances: 'os saldos não são os que os lançamentos dão',
  place: 'nada leva até ele',
  changed: 'não é o lote que foi lido ali antes',
  gone: 'foi lido e não está mais lá',
};

const LISTED: Readonly<Record<ListedKind, string>> = {
  payment: 'um pagamento',
  sending: 'uma transferência',
  return: 'uma devolução',
};

export const items: ItemWords = {
  MESSAGE_REFUSED: refused,
  MESSAGE_INVALID: refused,
  MESSAGE_UNDECIDED: ({ data: { message, messageId, transactionId, reason, content } }) => ({
    what: `${message} (${messageId}) para ${transactionId} não pode ser decidida (${reason}): ${content}`.slice(
      0,
      LONGEST_WHAT,
    ),
    next: `o banco deve enviá-la outra vez; ${inspect(transactionId)}`,
  }),
  TRANSACTION_UNKNOWN: ({ data: { message, messageId, transactionId, content } }) => ({
    what: `${message} (${messageId}) para ${transactionId}, que não é transação nenhuma: ${content}`.slice(
      0,
      LONGEST_WHAT,
    ),
    next: 'pergunte ao banco do que se tratava: pode haver dinheiro nisso',
  }),
  REFUSALS_UNRECORDED: ({ about, data: { type, recorded } }) => ({
    what: `${recorded} mensagens ${TO_THE[type]} ${about.transaction} foram recusadas e registradas; as próximas só são respondidas e contadas`,
    next: `pergunte a quem as envia; ${inspect(about.transaction)}`,
  }),
  PAYMENT_GIVEN_BACK: ({ about, data }) => ({
    what: `o pagamento ${data.endToEndId} de ${reais(data.amount)} para a cobrança ${about.transaction} é devolvido: ${why(data)}`,
    next: inspect(about.transaction),
  }),
  RETURN_FAILED: ({ about, data: { endToEndId, why: reason } }) => ({
    what: `o pagamento ${endToEndId} da cobrança ${about.transaction} não pôde ser devolvido: ${reason}`,
    next: `quando a causa tiver sido resolvida, npx pixstate bank return ${endToEndId}`,
  }),
  RETURN_STUCK: ({ since, about, data: { endToEndId, bank } }) => ({
    what: `o pagamento ${endToEndId} da cobrança ${about.transaction} está sendo devolvido desde ${since}: ${unended(bank)}`,
    next: `pergunte ao banco; ${inspect(about.transaction)} mostra o pagamento`,
  }),
  REFUNDED_TOO_MUCH: ({ about, data: { refundId, standing } }) => ({
    what: `ALARME: saiu mais do que entrou: a devolução ${refundId} foi concluída onde restam ${reais(standing)} (transação ${about.transaction})`,
    next: inspect(about.transaction),
  }),
  REFUND_STUCK: ({ since, about: { transaction }, data: { refundId, bank } }) => ({
    what: `a devolução ${refundId} da cobrança ${transaction} está pendente desde ${since}: ${unended(bank)}`,
    next: `pergunte ao banco; depois, ${send(transaction, refundOutcome(refundId, 'ou'))}, um REFUND_DONE também com o returnId do banco (rtrId) nos dados, para que conte uma só vez; ${inspect(transaction)} mostra o caso`,
  }),
  TRANSFER_STUCK: stuck('SETTLE ou FAIL'),
  ANALYSIS_STUCK: stuck('APPROVE ou REFUSE'),
  EXPIRY_STUCK: ({ since, about: { transaction }, data: { why: reason } }) => ({
    what: `a cobrança ${transaction} deveria ter expirado em ${since} e espera até o banco dizer se foi paga: ${reason}`,
    next: `pergunte ao banco; depois, ${send(transaction, 'PAY ou EXPIRE')}; ${inspect(transaction)} mostra o caso`,
  }),
  SNAPSHOT_UNREADABLE: ({ id, data: { reason } }) => ({
    what: `o snapshot de ${id} não pode ser lido: ${reason}`,
    next: 'instale um statechart ou uma migração que o leia e reinicie: as mensagens e os prazos dele continuam',
  }),
  CLOCK_BEHIND: ({ about, data: { entryAt, clock } }) => ({
    what: `o último registro da conta ${about.account} é de ${entryAt}, e o relógio diz ${clock}: um dos dois está errado`,
    next: 'veja se o relógio está certo; os próximos registros levam a hora do último até que ela chegue',
  }),
  BATCH_UNPROJECTABLE: ({ about, data: { seq, reason } }) => ({
    what: `o lote ${seq} de ${about.account} está gravado e não pode ser projetado: ${reason}`,
    next: 'conserte o que ele indica: o lote é tentado o tempo todo, e o item sai da lista sozinho',
  }),
  BATCH_BROKEN: ({ about: { account }, data: { seq, fault } }) => ({
    what: `ALARME: o lote ${seq} de ${account} não confere: ${FAULTS[fault]}`,
    next: `npx pixstate verify --account ${account} mostra tudo; deixe o banco de dados ou a pasta de dados como está e compare com um backup`,
  }),
  LOG_UNREADABLE: ({ data: { row, reason } }) => ({
    what: `ALARME: a linha ${row} do log não pode ser lida: ${reason}`,
    next: 'npx pixstate verify; deixe a pasta de dados como está e compare-a com um backup',
  }),
  DELIVERY_DEAD: ({ id, about, data: { event, error, status } }) => ({
    what: `${event} de ${about.transaction} para ${about.url} esgotou as tentativas: ${error ?? status ?? 'a URL saiu da conta'}`,
    next:
      (error ?? status) === null
        ? `npx pixstate account set ${about.account} com --webhook-url põe a URL de volta; só então npx pixstate deliveries retry ${id} tem efeito`
        : `npx pixstate deliveries retry ${id}`,
  }),
  DELIVERIES_REJECTED: ({ about, data: { day, count, event, status } }) => ({
    what: `${about.url} rejeitou ${count} ${count === 1 ? 'entrega' : 'entregas'} em ${day} (UTC), a primeira ${event} de ${about.transaction} com ${status}`,
    next: `pergunte a quem recebe por quê; quando passar a aceitar, ${retrySince(about.account, about.url, day)}`,
  }),
  URL_HANGS: ({ about, data: { waiting } }) => ({
    what: `mais de ${waiting.toLocaleString('pt-BR')} entregas esperam por ${about.url}, que não responde a tempo`,
    next: `pergunte a quem recebe; npx pixstate account set ${about.account} com outras --webhook-url tira a URL da conta, e o que espera é dado por perdido`,
  }),
  BANK_CREDENTIALS: atTheBank('confira BANK_CLIENT_ID e BANK_CLIENT_SECRET'),
  BANK_SCOPE: atTheBank('peça ao banco que amplie os escopos do contrato'),
  BANK_CERTIFICATE: atTheBank('renove o certificado do cliente no banco'),
  BANK_PATH: atTheBank('confira BANK_URL, BANK_TOKEN_URL e BANK_PROFILE'),
  BANK_KEY: ({ data: { key, message } }) => ({
    what: `o banco não aceita a chave Pix ${key} como uma deste contrato: ${message}`,
    next: 'confira BANK_PIX_KEY e a chave da própria conta (npx pixstate account set --pix-key); npx pixstate bank check',
  }),
  BANK_WEBHOOK: ({ data: { url, message } }) => ({
    what: `o banco não aceita ${url} como endereço das notificações: ${message}`,
    next: 'confira BANK_WEBHOOK_URL e se o banco chega até lá; npx pixstate bank check --fix; enquanto isso, os pagamentos são achados na lista',
  }),
  BANK_LIMIT: ({ data: { call, minutes } }) => ({
    what: `o banco não quer ${call} por ${minutes} minutos: essas chamadas estão retidas`,
    next: 'peça ao banco um limite maior; as chamadas voltam quando o prazo dele acabar, e o item sai da lista quando passarem',
  }),
  BANK_AWAY: ({ since, data: { call, message } }) => ({
    what: `em ${since} o banco já não respondia havia minutos, e as chamadas estão retidas; a última, ${call}: ${message}`,
    next: 'pergunte ao banco; npx pixstate bank check; o banco é tentado o tempo todo, e o item sai da lista quando ele responder',
  }),
  BANK_LISTS: ({ data: { since, message } }) => ({
    what: `as listas do banco não podem ser lidas desde ${since}: ${message}`,
    next: 'pergunte ao banco; o que ele nunca avisou só é achado nelas; elas são tentadas o tempo todo, e o item sai da lista quando puderem ser lidas',
  }),
  BANK_CERTIFICATE_EARLY: certificate('só vale a partir de'),
  BANK_CERTIFICATE_EXPIRED: certificate('venceu em'),
  CHARGE_PAYMENT_UNREADABLE: ({ about: { transaction }, data: { endToEndId, unread } }) => ({
    what: `um pagamento da cobrança ${transaction} (${named(endToEndId)}) não pode ser lido: ${unread}`,
    next: `pergunte ao banco o que foi pago; o que você registrar à mão leva os ids do próprio banco: um PAY o endToEndId, um REFUND ou CHARGEBACK o returnId (rtrId), para contar uma só vez; ${inspect(transaction)} mostra a cobrança`,
  }),
  CHARGE_UNKNOWN: ({ about, data: { txid } }) => ({
    what: `o banco não conhece a cobrança ${txid}, que espera pelo pagamento aqui (${about.transaction})`,
    next: 'pergunte ao banco por quê: ninguém pode pagá-la; ela expira no seu prazo',
  }),
  PAYMENT_UNEXPLAINED: ({ data: { endToEndId, txid, paidAt } }) => ({
    what: `o banco recebeu o pagamento ${endToEndId} ${txid === null ? 'sem txid' : `com o txid ${txid}`} em ${paidAt}, e nenhuma cobrança nossa o explica`,
    next: 'descubra de quem é: talvez o dinheiro tenha de ser devolvido no banco',
  }),
  PAYMENT_UNREADABLE: ({ data: { endToEndId, txid, unread } }) => ({
    what: `um pagamento da lista do banco (${named(endToEndId)}, ${txid ?? 'sem txid'}) não pode ser lido: ${unread}`,
    next: 'pergunte ao banco o que foi pago',
  }),
  TRANSFER_UNEXPLAINED: ({ data: { listed } }) =>
    differs(`o banco lista uma transferência (${listed}) que nenhuma nossa explica`),
  TRANSFER_UNREADABLE: ({ data: { listed } }) =>
    differs(`uma transferência da lista do banco (${listed ?? 'sem id'}) não pode ser lida`),
  TRANSFERS_UNREADABLE: ({ data: { count } }) =>
    differs(`a lista do banco tem ${count} transferências que não podem ser lidas`),
  AMOUNT_BOOKED_DIFFERS: ({ about, data }) =>
    differs(`${THE[data.type]} ${about.transaction}: ${otherAmount(data)}`),
  RETURN_AMOUNT_DIFFERS: ({ about, data }) =>
    differs(`${THE[data.type]} ${about.transaction}, devolução ${data.returnId}: ${otherAmount(data)}`),
  RETURN_UNLISTED: ({ about, data: { type, returnId } }) =>
    differs(
      `${THE[type]} ${about.transaction}: foi registrada uma devolução (${returnId}) que o banco não lista`,
    ),
  RETURN_UNBOOKED: ({ about, data: { type, returnId, nature, amount, booking } }) => ({
    what: `${THE[type]} ${about.transaction}: o banco lista uma devolução (${returnId}, ${nature}) de ${reais(amount)} que não foi registrada`,
    next:
      booking === undefined
        ? `pergunte ao banco o que é, depois ${send(about.transaction, 'REFUND ou CHARGEBACK')} com o valor`
        : `pergunte ao banco o que é, depois ${send(about.transaction, takenBack(amount, booking, 'ou'))}: com este id ela conta uma só vez, diga o banco o que disser depois`,
  }),
  LISTING_UNBOOKED: ({ about, data: { type, listed, endToEndId } }) => ({
    what: `${THE[type]} ${about.transaction}: o banco lista ${LISTED[listed]} (${named(endToEndId)}) e, perguntado, nada diz a respeito: não foi registrado`,
    next: `pergunte ao banco por quê; ele é perguntado de novo a cada dia, e o item sai da lista quando for registrado; ${inspect(about.transaction)} mostra o resto`,
  }),
  BOOKING_UNLISTED: ({ data: { booked, endToEndId } }) =>
    differs(
      `o diário tem ${booked === 'payment' ? 'um pagamento' : 'uma transferência'} (${endToEndId}) que o banco não lista`,
    ),
};
