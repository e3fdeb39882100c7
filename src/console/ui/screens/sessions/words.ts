/** The words of the page of sessions, which come with its script. */
import type { Language } from '../../../shapes.ts';

interface SessionWords {
  title: string;
  note: string;
  by: string;
  role: string;
  since: string;
  used: string;
  until: string;
  own: string;
  end: string;
  endOf: string;
  none: string;
}

export const sessionWords: Record<Language, SessionWords> = {
  pt: {
    title: 'Sessões',
    note: 'O uso é anotado a cada cinco minutos. Quem teve a sessão encerrada entra de novo com outro link.',
    by: 'Quem',
    role: 'Papel',
    since: 'Início',
    used: 'Último uso',
    until: 'Termina em',
    own: 'esta',
    end: 'Encerrar',
    endOf: 'Encerrar a sessão de {by}',
    none: 'Quem entra por um proxy não tem sessão aqui.',
  },
  en: {
    title: 'Sessions',
    note: 'Use is noted once in five minutes. Whose session was ended signs in again with another link.',
    by: 'Who',
    role: 'Role',
    since: 'Began',
    used: 'Last used',
    until: 'Ends',
    own: 'this one',
    end: 'End',
    endOf: 'End the session of {by}',
    none: 'Who signs in by a proxy has no session here.',
  },
};
