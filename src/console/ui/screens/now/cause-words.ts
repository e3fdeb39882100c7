/** The start page's words for causes. What a single item is about stands in its sentences. */
import type { Language } from '../../../shapes.ts';

interface Counted {
  one: string;
  other: string;
}

/** How a cause is told: its heading, and what it means where its items' own sentences don't say. */
export interface CauseWords {
  title: Counted;
  what?: string;
}

const money = {
  pt: 'O valor segue em trânsito até o banco dizer o que houve. Pergunte ao banco e registre o resultado.',
  en: 'The amount stays in transit until the bank says what became of it. Ask the bank, and record what it says.',
} satisfies Record<Language, string>;

/** By code, else by kind. */
export const causeWords: Record<Language, Record<string, CauseWords>> = {
  pt: {
    TRANSFER_STUCK: {
      title: {
        one: '{n} transferência sem resposta do banco',
        other: '{n} transferências sem resposta do banco',
      },
      what: money.pt,
    },
    ANALYSIS_STUCK: {
      title: {
        one: '{n} pagamento em análise há tempo demais',
        other: '{n} pagamentos em análise há tempo demais',
      },
      what: money.pt,
    },
    REFUND_STUCK: {
      title: { one: '{n} devolução sem resposta do banco', other: '{n} devoluções sem resposta do banco' },
      what: money.pt,
    },
    RETURN_STUCK: {
      title: {
        one: '{n} pagamento sendo devolvido sem resposta do banco',
        other: '{n} pagamentos sendo devolvidos sem resposta do banco',
      },
      what: money.pt,
    },
    EXPIRY_STUCK: {
      title: {
        one: '{n} cobrança vencida sem resposta do banco',
        other: '{n} cobranças vencidas sem resposta do banco',
      },
      what: 'A cobrança não expira até o banco dizer se foi paga. Pergunte ao banco e registre o que ele disser.',
    },
    RETURN_FAILED: {
      title: {
        one: '{n} pagamento não pôde ser devolvido',
        other: '{n} pagamentos não puderam ser devolvidos',
      },
    },
    REFUNDED_TOO_MUCH: {
      title: { one: 'Saiu mais do que entrou', other: 'Saiu mais do que entrou, {n} vezes' },
    },
    dead: {
      title: { one: '{n} entrega esgotada para', other: '{n} entregas esgotadas para' },
      what: 'Cinco tentativas falharam; nada mais será enviado sem você.',
    },
    rejected: {
      title: { one: '{n} entrega rejeitada por', other: '{n} entregas rejeitadas por' },
      what: 'Quem recebe recusou definitivamente; nada mais será enviado sem você.',
    },
    hanging: {
      title: { one: 'Entregas esperam por', other: 'Entregas esperam por' },
    },
    payment: {
      title: { one: '{n} pagamento que nada explica', other: '{n} pagamentos que nada explica' },
    },
    difference: {
      title: { one: 'O banco e o diário divergem', other: 'O banco e o diário divergem em {n} casos' },
    },
    bank: {
      title: { one: 'O banco não aceita algo nosso', other: 'O banco não aceita algo nosso, {n} vezes' },
    },
    quarantined: {
      title: { one: '{n} transação que não pode ser lida', other: '{n} transações que não podem ser lidas' },
    },
    journal: { title: { one: 'O diário não confere', other: 'O diário não confere em {n} lugares' } },
    projection: {
      title: { one: '{n} lote que não pode ser projetado', other: '{n} lotes que não podem ser projetados' },
    },
    return: {
      title: { one: 'Pagamento devolvido ao pagador', other: '{n} pagamentos devolvidos aos pagadores' },
    },
    unknown: {
      title: {
        one: 'O banco falou de uma transação que não existe',
        other: 'O banco falou {n} vezes de transações que não existem',
      },
    },
    invalid: {
      title: {
        one: 'Uma mensagem do banco não pôde ser lida',
        other: '{n} mensagens do banco não puderam ser lidas',
      },
    },
    refused: {
      title: {
        one: 'O banco disse algo que a transação não aceita',
        other: 'O banco disse {n} vezes o que a transação não aceita',
      },
    },
    clock: {
      title: { one: '{n} conta está à frente do relógio', other: '{n} contas estão à frente do relógio' },
    },
  },
  en: {
    TRANSFER_STUCK: {
      title: {
        one: "{n} transfer without the bank's answer",
        other: "{n} transfers without the bank's answer",
      },
      what: money.en,
    },
    ANALYSIS_STUCK: {
      title: { one: '{n} payment too long in analysis', other: '{n} payments too long in analysis' },
      what: money.en,
    },
    REFUND_STUCK: {
      title: { one: "{n} refund without the bank's answer", other: "{n} refunds without the bank's answer" },
      what: money.en,
    },
    RETURN_STUCK: {
      title: {
        one: "{n} payment on its way back without the bank's answer",
        other: "{n} payments on their way back without the bank's answer",
      },
      what: money.en,
    },
    EXPIRY_STUCK: {
      title: {
        one: "{n} charge past its time without the bank's answer",
        other: "{n} charges past their time without the bank's answer",
      },
      what: 'It does not expire until the bank says whether it was paid. Ask the bank, and record what it says.',
    },
    RETURN_FAILED: {
      title: { one: "{n} payment couldn't be given back", other: "{n} payments couldn't be given back" },
    },
    REFUNDED_TOO_MUCH: {
      title: { one: 'More went out than came in', other: 'More went out than came in, {n} times' },
    },
    dead: {
      title: { one: '{n} exhausted delivery to', other: '{n} exhausted deliveries to' },
      what: 'Five attempts have failed; nothing more is sent without you.',
    },
    rejected: {
      title: { one: '{n} delivery rejected by', other: '{n} deliveries rejected by' },
      what: 'The receiver has refused for good; nothing more is sent without you.',
    },
    hanging: { title: { one: 'Deliveries wait for', other: 'Deliveries wait for' } },
    payment: {
      title: { one: '{n} payment that nothing explains', other: '{n} payments that nothing explains' },
    },
    difference: {
      title: {
        one: 'The bank and the journal differ',
        other: 'The bank and the journal differ in {n} cases',
      },
    },
    bank: {
      title: {
        one: "The bank doesn't take something of ours",
        other: "The bank doesn't take {n} things of ours",
      },
    },
    quarantined: {
      title: { one: "{n} transaction that can't be read", other: "{n} transactions that can't be read" },
    },
    journal: {
      title: { one: 'The journal does not add up', other: 'The journal does not add up in {n} places' },
    },
    projection: {
      title: { one: "{n} batch that can't be projected", other: "{n} batches that can't be projected" },
    },
    return: {
      title: { one: 'A payment is given back', other: '{n} payments are given back' },
    },
    unknown: {
      title: {
        one: 'The bank spoke of a transaction that does not exist',
        other: 'The bank spoke {n} times of transactions that do not exist',
      },
    },
    invalid: {
      title: { one: "A message of the bank can't be read", other: "{n} messages of the bank can't be read" },
    },
    refused: {
      title: {
        one: "The bank said what the transaction doesn't take",
        other: "The bank said {n} times what the transaction doesn't take",
      },
    },
    clock: {
      title: { one: '{n} account is ahead of the clock', other: '{n} accounts are ahead of the clock' },
    },
  },
};
