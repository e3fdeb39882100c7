/** How a URL's last attempts went: a bead each, the newest last, and what they say in figures. */
import type { UrlHealth } from '../../shapes/deliveries.ts';
import { fill, usePreferences, useWords } from '../state/preferences.ts';
import { Icon } from './icon.tsx';
import { LOCALES } from './time.tsx';

const BEAD = { step: 6, width: 4, height: 14, most: 36 };

export function Beads({ recent }: { recent: readonly boolean[] }) {
  const words = useWords();
  const good = recent.filter((isTaken) => isTaken).length;
  // The newest stands at the same place, however many there are.
  const beads = [...Array.from({ length: BEAD.most - recent.length }, () => null), ...recent];
  return (
    <svg
      class="attempts"
      role="img"
      aria-label={fill(words.beads, { good, of: recent.length })}
      width={BEAD.most * BEAD.step}
      height={BEAD.height}
    >
      {beads.map((isTaken, index) => {
        const height = isTaken === null ? 3 : isTaken ? BEAD.height - 4 : BEAD.height;
        return (
          <rect
            key={index}
            class={isTaken === null ? 'none' : isTaken ? 'good' : 'bad'}
            x={index * BEAD.step}
            y={BEAD.height - height}
            width={BEAD.width}
            height={height}
            rx="1.5"
          />
        );
      })}
    </svg>
  );
}

function share(language: 'pt' | 'en', recent: readonly boolean[]): string {
  const part = recent.filter((isTaken) => isTaken).length / Math.max(1, recent.length);
  return new Intl.NumberFormat(LOCALES[language], { style: 'percent', maximumFractionDigits: 1 }).format(
    part,
  );
}

export function UrlFigures({ health }: { health: UrlHealth }) {
  const words = useWords();
  const { language } = usePreferences();
  const { recent, p50, p95, failing, retrying, moreRetrying } = health;
  const waiting = moreRetrying ? `${retrying}+` : retrying;
  return (
    <span class="figures">
      <span>{fill(words.deliveredShare, { share: share(language, recent) })}</span>
      <span class="weak">{`p50 ${p50} ms · p95 ${p95} ms`}</span>
      {retrying === 0 ? null : <span class="care-text">{fill(words.retryingNow, { n: waiting })}</span>}
      {failing === 0 ? null : (
        <span class="bad-text">
          <Icon name="cross" size={13} />{' '}
          {fill(failing === 1 ? words.failingNow.one : words.failingNow.other, { n: failing })}
        </span>
      )}
    </span>
  );
}
