/** The start page's own words, which come with its script. What a single item is about stands in its sentences. */
import type { Language } from '../../../shapes.ts';
import { usePreferences } from '../../state/preferences.ts';

interface Counted {
  one: string;
  other: string;
}

/** How a cause is told: its heading, and what it means where its items' own sentences don't say. */
export interface CauseWords {
  title: Counted;
  what?: string;
}

const pt = {
  title: {
    none: 'Nada pendente',
    one: '{n} caso precisa de alguém',
    other: '{n} casos precisam de alguém',
  },
  allWell: 'Está tudo em ordem: nada falhou definitivamente, e nenhuma resposta do banco está atrasada.',
  stillCounting: 'A lista é longa e ainda está sendo contada.',
  countedAt: 'Contado às {time}.',
  others: { one: 'Há mais {n} caso.', other: 'Há mais {n} casos.' },
  moreOfIt: 'e mais {n}',
  atLeast: 'pelo menos',
  perMinute: 'mensagens por minuto',
  thisServer: 'deste servidor',
  bars: 'Mensagens por minuto nos últimos {minutes} minutos: no máximo {most}.',
  firstAttempt: 'entregues no 1º envio',
  openTransfers: 'transferências em aberto',
  waiting: 'cobranças à espera',
  addsUp: 'diário confere',
  addsUpNot: 'diário não confere',
  addsUpTo: 'diário confere até {time}',
  unread: 'lotes do diário a conferir',
  figures: 'Números',
  causes: 'Casos',
  protests: {
    title: { one: '{n} contestação (MED) a decidir', other: '{n} contestações (MED) a decidir' },
    what: 'O dinheiro fica onde está até alguém decidir: REFUND ou CHARGEBACK o tira do lojista, DISMISS o deixa com ele.',
    list: 'Cobranças em contestação, as mais antigas primeiro',
    decide: 'Decidir',
  },
  lastAnswer: 'última resposta',
  journal: 'Diário',
  journalEmpty: 'Nada por enquanto.',
  everySeconds: 'a cada {seconds} s',
  paused: 'em pausa',
  pause: 'Pausar',
  goOn: 'Continuar',
  step: {
    deliveries: 'Ver entregas',
    transactions: 'Ver transações',
    transaction: 'Ver transação',
    account: 'Ver conta',
    command: 'Comando',
    done: 'Está resolvido',
  },
};

type Words = typeof pt;

const en: Words = {
  title: { none: 'Nothing needs anybody', one: '{n} case needs somebody', other: '{n} cases need somebody' },
  allWell: 'All is well: nothing has failed for good, and nothing waits too long for the bank.',
  stillCounting: 'The list is long, and still being counted.',
  countedAt: 'Counted at {time}.',
  others: { one: 'There is {n} more case.', other: 'There are {n} more cases.' },
  moreOfIt: 'and {n} more',
  atLeast: 'at least',
  perMinute: 'messages a minute',
  thisServer: 'this server',
  bars: 'Messages a minute in the last {minutes} minutes: {most} at the most.',
  firstAttempt: 'delivered at first attempt',
  openTransfers: 'open transfers',
  waiting: 'charges that wait',
  addsUp: 'journal adds up',
  addsUpNot: 'journal does not add up',
  addsUpTo: 'journal adds up to {time}',
  unread: 'batches of the journal to be read',
  figures: 'Figures',
  causes: 'Cases',
  protests: {
    title: { one: '{n} protest (MED) to decide', other: '{n} protests (MED) to decide' },
    what: 'The money stays where it is until somebody decides: REFUND or CHARGEBACK takes it from the merchant, DISMISS leaves it there.',
    list: 'Charges under protest, the oldest first',
    decide: 'Decide',
  },
  lastAnswer: 'last answer',
  journal: 'Journal',
  journalEmpty: 'Nothing so far.',
  everySeconds: 'every {seconds} s',
  paused: 'paused',
  pause: 'Pause',
  goOn: 'Go on',
  step: {
    deliveries: 'See deliveries',
    transactions: 'See transactions',
    transaction: 'See the transaction',
    account: 'See the account',
    command: 'Command',
    done: 'Done with it',
  },
};

export const nowWords = { pt, en };

export function useNowWords(): Words {
  return nowWords[usePreferences().language];
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
