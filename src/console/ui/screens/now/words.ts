/** The start page's own words, which come with its script. */
import { usePreferences } from '../../state/preferences.ts';

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
