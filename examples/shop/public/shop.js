/** The page's own code: a cart, and an order as it changes. What others wrote is shown as text. */
const MOST_PIECES = 20;
const STATUS = {
  waiting_payment: 'Waiting for your payment …',
  in_analysis: 'Your bank is looking at the payment …',
  paid: 'Paid. Thank you!',
  in_protest: 'The payment is under protest.',
  refused: 'The payment was refused.',
  canceled: 'The charge was canceled.',
  expired: 'The time to pay is over.',
  failed: 'The payment failed.',
  refunded: 'Refunded: the money is on its way back to you.',
  chargedback: 'The payment was charged back.',
};
const WAITS = ['waiting_payment', 'in_analysis'];

const byId = (id) => document.getElementById(id);
const money = new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' });
const priceText = (cents) => money.format(cents / 100);
const timeText = (time) =>
  new Date(time).toLocaleTimeString('pt-BR', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

const products = new Map(
  [...document.querySelectorAll('.product')].map(({ dataset }) => [
    dataset.product,
    { name: dataset.name, price: Number(dataset.price) },
  ]),
);
const cart = new Map();
let order = null;
let stream = null;

/** An element with text, and with attributes where some are given. */
function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function tellProblem(message) {
  byId('problem').textContent = message;
  byId('problem').hidden = message === '';
}

async function post(path, body) {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

/** Does something once, while its button can't be pressed, and says where it fails. */
async function doing(button, work) {
  button.disabled = true;
  tellProblem('');
  try {
    await work();
  } catch (error) {
    tellProblem(error instanceof TypeError ? 'The shop can’t be reached. Please try again.' : error.message);
  } finally {
    button.disabled = false;
  }
}

/** A button that changes the pieces of a line; it is found again, and focused, after the line is drawn anew. */
function changeButton(id, name, by) {
  const label = by > 0 ? `One more ${name}` : `One ${name} less`;
  const button = element('button', by > 0 ? '+' : '−', { type: 'button', 'aria-label': label });
  button.addEventListener('click', () => {
    change(id, by);
    (document.querySelector(`[aria-label="${CSS.escape(label)}"]`) ?? byId('cart-title')).focus();
  });
  return button;
}

function lineOf([id, pieces]) {
  const { name, price } = products.get(id);
  const line = element('li', '');
  const count = element('span', String(pieces), { class: 'pieces' });
  const steps = element('span', '', { class: 'steps' });
  steps.append(changeButton(id, name, -1), count, changeButton(id, name, 1));
  line.append(element('span', name), steps, element('span', priceText(price * pieces), { class: 'price' }));
  return line;
}

/** What each product's button says: how many of it are in the cart. */
function showCounts() {
  for (const card of document.querySelectorAll('.product')) {
    const pieces = cart.get(card.dataset.product) ?? 0;
    card.querySelector('.in-cart').textContent = pieces === 0 ? '' : ` (${pieces})`;
    card.querySelector('button').disabled = order !== null || pieces === MOST_PIECES;
  }
}

function showCart() {
  showCounts();
  byId('cart-lines').replaceChildren(...[...cart].map(lineOf));
  const total = [...cart].reduce((sum, [id, pieces]) => sum + products.get(id).price * pieces, 0);
  byId('cart-total').textContent = priceText(total);
  byId('cart-empty').hidden = cart.size > 0;
  byId('checkout').hidden = cart.size === 0;
}

function change(id, by) {
  const pieces = Math.min(MOST_PIECES, (cart.get(id) ?? 0) + by);
  if (pieces > 0) cart.set(id, pieces);
  else cart.delete(id);
  showCart();
}

function statusText({ status, refund }) {
  if (status === 'paid' && refund === 'pending') return 'Paid. The refund is under way …';
  if (status === 'paid' && refund === 'failed') return 'Paid. The refund failed.';
  return STATUS[status] ?? status;
}

/** The text is set only where it changes, so that a screen reader says it once. */
function setText(id, text) {
  if (byId(id).textContent !== text) byId(id).textContent = text;
}

function showOrder(given) {
  order = given;
  const waits = WAITS.includes(order.status);
  setText('status', statusText(order));
  byId('order').dataset.status = order.status;
  byId('to-pay').hidden = !waits;
  byId('receipt').hidden = order.paidAt === null;
  setText('order-total', priceText(order.total));
  setText('receipt-name', order.name === '' ? 'without a name' : order.name);
  setText('receipt-total', priceText(order.total));
  setText('receipt-time', order.paidAt === null ? '' : timeText(order.paidAt));
  setText('receipt-id', order.endToEndId ?? '');
  byId('refund').hidden = order.status !== 'paid' || order.refund !== null;
  byId('another').hidden = waits;
  byId('events').replaceChildren(
    ...order.events.map(({ event, at }) => {
      const line = element('li', '');
      line.append(element('code', event), ' ', element('time', timeText(at), { datetime: at }));
      return line;
    }),
  );
}

function openOrder(given) {
  byId('qr').src = `/orders/${given.id}/qr.svg`;
  byId('code').value = given.qrcode;
  byId('cart').hidden = true;
  byId('order').hidden = false;
  showOrder(given);
  showCounts();
  byId('order').focus();
}

/**
 * Shows an order, and each change of it as it comes. The browser connects again by itself where that breaks. The order
 * stands in the address: a phone drops the page of a buyer who is in the bank's app, and loads it anew afterwards.
 */
function follow(id) {
  history.replaceState(null, '', `#${id}`);
  stream?.close();
  stream = new EventSource(`/orders/${encodeURIComponent(id)}/events`);
  stream.addEventListener('message', ({ data }) => {
    const given = JSON.parse(data);
    if (order === null) openOrder(given);
    else showOrder(given);
  });
  stream.addEventListener('error', () => {
    if (stream.readyState !== EventSource.CLOSED) return;
    startAgain();
    tellProblem('The shop knows no such order.');
  });
}

function startAgain() {
  stream?.close();
  history.replaceState(null, '', location.pathname);
  order = null;
  byId('copy').textContent = 'Copy the code';
  cart.clear();
  showCart();
  byId('order').hidden = true;
  byId('cart').hidden = false;
  byId('cart-title').focus();
}

for (const card of document.querySelectorAll('.product'))
  card.querySelector('button').addEventListener('click', () => change(card.dataset.product, 1));

byId('checkout').addEventListener('submit', (event) => {
  event.preventDefault();
  const request = { cart: Object.fromEntries(cart), name: byId('name').value };
  void doing(event.submitter, async () => {
    const placed = await post('/orders', request);
    openOrder(placed);
    follow(placed.id);
  });
});

byId('copy').addEventListener('click', ({ currentTarget }) =>
  doing(currentTarget, async () => {
    byId('code').select();
    await navigator.clipboard.writeText(byId('code').value);
    currentTarget.textContent = 'Copied';
  }),
);

// Only a sandbox's page has it.
byId('pay')?.addEventListener('click', ({ currentTarget }) =>
  doing(currentTarget, () => post(`/orders/${order.id}/pay`, {})),
);

byId('refund').addEventListener('click', ({ currentTarget }) =>
  doing(currentTarget, () => post(`/orders/${order.id}/refund`, {})),
);

byId('another').addEventListener('click', startAgain);

if (location.hash !== '') follow(location.hash.slice(1));
