/** Both languages have the same words, with the same places to fill in. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { machines } from '../../machines/index.ts';
import { familyOf, statusesByFamily } from '../../src/console/shapes/families.ts';
import { en as actEnglish } from '../../src/console/ui/acts/forms/words.en.ts';
import { pt as actPortuguese } from '../../src/console/ui/acts/forms/words.pt.ts';
import { familyOfDelivery } from '../../src/console/ui/parts/families.ts';
import { causeWords } from '../../src/console/ui/screens/now/cause-words.ts';
import { nowWords } from '../../src/console/ui/screens/now/words.ts';
import { referenceWords } from '../../src/console/ui/screens/reference/words.ts';
import { sessionWords } from '../../src/console/ui/screens/sessions/words.ts';
import { filterWords } from '../../src/console/ui/screens/transactions/words.ts';
import { en as mainEnglish } from '../../src/console/ui/words.en.ts';
import { pt as mainPortuguese } from '../../src/console/ui/words.pt.ts';

const test = suite('words');

/** With the words that come with scripts of their own. */
const pt = {
  ...mainPortuguese,
  ofReference: referenceWords.pt,
  ofActs: actPortuguese,
  ofNow: nowWords.pt,
  ofCauses: causeWords.pt,
  ofFilters: filterWords.pt,
  ofSessions: sessionWords.pt,
};
const en = {
  ...mainEnglish,
  ofReference: referenceWords.en,
  ofActs: actEnglish,
  ofNow: nowWords.en,
  ofCauses: causeWords.en,
  ofFilters: filterWords.en,
  ofSessions: sessionWords.en,
};

/** Texts by their path. */
function textsOf(words: object, path = ''): Map<string, string> {
  return new Map(
    Object.entries(words).flatMap(([name, word]) =>
      typeof word === 'string' ? [[path + name, word] as const] : [...textsOf(word, `${path}${name}.`)],
    ),
  );
}

const places = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();

test('each word stands in both languages, with the same places', () => {
  const [portuguese, english] = [textsOf(pt), textsOf(en)];
  assert.ok(portuguese.size > 100, `${portuguese.size}`);
  assert.equal([...english.keys()].sort(), [...portuguese.keys()].sort());
  for (const [path, text] of portuguese) {
    assert.is.not(text.trim(), '', path);
    assert.equal(places(english.get(path) ?? ''), places(text), path);
  }
});

test('no Portuguese is left in English, nor English in Portuguese', () => {
  for (const [path, text] of textsOf(en)) assert.not.match(text, /[ãõçáéíóúâêôà]/i, `${path}: ${text}`);
  const english = /\b(the|is|are|was|this|with|there|from|when)\b/i;
  for (const [path, text] of textsOf(pt))
    assert.not.match(text.replace(/\{\w+\}/g, ''), english, `${path}: ${text}`);
});

test('each state of the charts has a word and a family', () => {
  const transactions = [...Object.keys(machines['pix-in'].states), ...Object.keys(machines.cashout.states)];
  const grouped = statusesByFamily().flatMap(([, statuses]) => statuses);
  assert.equal([...new Set(transactions)].sort(), [...grouped].sort());
  for (const status of transactions) {
    assert.ok(status in pt.status, status);
    assert.ok(familyOf(status));
  }
  const deliveries = Object.keys(machines['webhook-delivery'].states);
  assert.equal(Object.keys(pt.delivery).sort(), deliveries.sort());
  assert.equal(
    deliveries.filter((status) => familyOfDelivery(status) === 'ended'),
    [],
  );
});

test.run();
