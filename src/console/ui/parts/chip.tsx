/** A state as colour, glyph and word. */

import { type Family, familyOf } from '../../shapes/families.ts';
import { useWords } from '../state/preferences.ts';
import { FAMILY_ICONS, familyOfDelivery } from './families.ts';
import { Icon } from './icon.tsx';

export function Chip({ family, word, isLarge = false }: { family: Family; word: string; isLarge?: boolean }) {
  return (
    <span class={`chip ${family}${isLarge ? ' large' : ''}`}>
      <Icon name={FAMILY_ICONS[family]} size={isLarge ? 15 : 13} />
      {word}
    </span>
  );
}

/** A transaction's state, by the contract's id of it. */
export function StatusChip({ status, isLarge = false }: { status: string; isLarge?: boolean }) {
  const words: Readonly<Record<string, string>> = useWords().status;
  return <Chip family={familyOf(status)} word={words[status] ?? status} isLarge={isLarge} />;
}

export function DeliveryChip({ status }: { status: string }) {
  const words: Readonly<Record<string, string>> = useWords().delivery;
  return <Chip family={familyOfDelivery(status)} word={words[status] ?? status} />;
}
