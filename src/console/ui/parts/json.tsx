/** JSON that scrolls in its own box, by keys too. */

export function Json({ value, name }: { value: unknown; name: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys.
    <section class="json" tabIndex={0} aria-label={name}>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </section>
  );
}
