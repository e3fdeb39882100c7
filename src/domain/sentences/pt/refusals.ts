/** Why a message wasn't taken, in Portuguese. States and messages keep their names. */
import type { RefusalWords } from '../refusal-codes.ts';
import { A, reais } from './words.ts';

const GIVEN_BACK = 'o pagamento é devolvido';

export const refusals: RefusalWords = {
  ID_REUSED: () => 'o id desta mensagem já foi usado com outro tipo ou outros dados',
  MESSAGE_NOT_ACCEPTED: (data) =>
    'refundId' in data
      ? `a cobrança não tem a devolução ${data.refundId}`
      : `${A[data.type]} no estado ${data.state} não aceita ${data.message}`,
  PAID_TWICE: ({ state }) =>
    `ALARME: o banco pagou uma transferência no estado ${state}: valor e tarifa já tinham sido devolvidos, portanto o dinheiro saiu duas vezes`,
  BANK_ALONE: ({ message }) => `o pagamento já foi enviado ao banco: ${message} cabe só ao banco`,
  PARTIAL_UNSUPPORTED: ({ amount, whole }) =>
    `o valor é ${reais(amount)} e o da cobrança é ${reais(whole)}: valores parciais não são aceitos`,
  MORE_THAN_STANDS: ({ type, amount, left }) =>
    type === 'cashout'
      ? `o valor é ${reais(amount)}, e no máximo ${reais(left)} podem voltar`
      : `o valor é ${reais(amount)}, e restam ${reais(left)}`,
  REFUND_ENDED: ({ refundId, status }) => `a devolução ${refundId} já está no estado ${status}`,
  REFUNDED_TWICE: ({ refundId }) =>
    `ALARME: o banco pagou a devolução ${refundId}, que tinha falhado: o dinheiro já tinha voltado para o lojista, portanto saiu duas vezes`,
  RETURN_DIFFERS: ({ returnId }) => `a devolução ${returnId} foi registrada com outro valor`,
  RETURN_COUNTED: ({ refundId, returnId, status }) =>
    `ALARME: a devolução ${returnId} do banco já está registrada, e não como a devolução ${refundId}, que está no estado ${status}: ela conta uma só vez`,
  PAYMENT_ELSEWHERE: ({ transaction }) => `o pagamento pertence a ${transaction}`,
  PAYMENT_IN_ANALYSIS: () => 'o pagamento está em análise',
  ALREADY_RETURNED: () => 'o pagamento já foi devolvido',
  AMOUNT_DIFFERS: ({ amount, whole }) =>
    `o valor é ${reais(amount)} e o da cobrança é ${reais(whole)}; ${GIVEN_BACK}`,
  NOT_WAITING: ({ state }) => `a cobrança está no estado ${state}; ${GIVEN_BACK}`,
  INVALID_DATA: ({ problem }) => `a mensagem do banco está incompleta ou malformada: ${problem}`,
};
