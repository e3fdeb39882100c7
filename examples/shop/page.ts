/** The shop's one page. All that changes is filled in by `public/shop.js`, as text, never as HTML. */
import { PRODUCTS, type Product } from './catalogue.ts';

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

export function priceText(cents: number): string {
  return new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' }).format(cents / 100);
}

function productCard({ id, name, about, price }: Product): string {
  return `<li class="product" data-product="${escaped(id)}" data-name="${escaped(name)}" data-price="${price}">
        <img class="picture" src="/${escaped(id)}.svg" alt="" width="180" height="112">
        <h2>${escaped(name)}</h2>
        <p class="about">${escaped(about)}</p>
        <p class="price">${escaped(priceText(price))}</p>
        <button type="button" class="add">Add<span class="unseen"> ${escaped(name)}</span> to cart<span class="in-cart"></span></button>
      </li>`;
}

/** @param isSandbox whether the page may play the buyer's bank */
export function page(isSandbox: boolean): string {
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Casa do Grão</title>
  <link rel="icon" href="/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="/base.css">
  <link rel="stylesheet" href="/shop.css">
  <script src="/shop.js" type="module"></script>
</head>
<body>
  <header>
    <p class="brand"><img src="/icon.svg" alt="" width="32" height="32"> Casa do Grão</p>
    <p class="note">An example shop on Pixstate: no coffee is sold, no money moves.</p>
  </header>
  <noscript><p class="notice">This shop needs JavaScript: the cart and the payment are shown as they change.</p></noscript>
  <main>
    <section aria-labelledby="products">
      <h1 id="products">Coffee, roasted on Tuesdays</h1>
      <ul class="products">
      ${PRODUCTS.map(productCard).join('\n      ')}
      </ul>
    </section>
    <section class="panel" id="cart" aria-labelledby="cart-title">
      <h2 id="cart-title" tabindex="-1">Your cart</h2>
      <p id="cart-empty">Nothing in it yet.</p>
      <ul id="cart-lines"></ul>
      <form id="checkout" hidden>
        <p class="total"><span>Total</span> <strong id="cart-total"></strong></p>
        <label for="name">Your name <span class="optional">(optional)</span></label>
        <input id="name" name="name" autocomplete="name" maxlength="140">
        <button type="submit" class="main">Pay with Pix</button>
      </form>
    </section>
    <section class="panel" id="order" aria-labelledby="order-title" tabindex="-1" hidden>
      <h2 id="order-title">Your order</h2>
      <p id="status" class="status" role="status"></p>
      <div id="to-pay">
        <img id="qr" alt="QR code of the charge" width="240" height="240">
        <p class="total"><span>Total</span> <strong id="order-total"></strong></p>
        <label for="code">Pix copy and paste</label>
        <textarea id="code" readonly rows="3" spellcheck="false"></textarea>
        <button type="button" id="copy">Copy the code</button>
        ${isSandbox ? '<button type="button" id="pay" class="main">Play the buyer’s bank: pay</button>' : ''}
      </div>
      <dl id="receipt" hidden>
        <dt>Buyer</dt><dd id="receipt-name"></dd>
        <dt>Paid</dt><dd id="receipt-total"></dd>
        <dt>At</dt><dd id="receipt-time"></dd>
        <dt>End-to-end id</dt><dd id="receipt-id"></dd>
      </dl>
      <div class="actions">
        <button type="button" id="refund" hidden>Refund it all</button>
        <button type="button" id="another" hidden>Another order</button>
      </div>
      <h3>Webhooks that came</h3>
      <ol id="events"></ol>
    </section>
    <p id="problem" class="notice" role="alert" hidden></p>
  </main>
</body>
</html>
`;
}
