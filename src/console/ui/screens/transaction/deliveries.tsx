/** The webhooks of a transaction. */
import type { Delivery } from '../../../shapes.ts';
import { DeliveryItem } from '../../parts/delivery.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useWords } from '../../state/preferences.ts';

interface DeliveriesProps {
  transaction: string;
  deliveries: readonly Delivery[];
  isRevealed: boolean;
  /** Reads the page afresh. */
  again(): void;
}

export function Deliveries({ transaction, deliveries, isRevealed, again }: DeliveriesProps) {
  const words = useWords();
  const delivered = deliveries.filter(({ status }) => status === 'delivered').length;
  return (
    <Panel
      title={words.deliveries}
      aside={deliveries.length === 0 ? undefined : `${delivered}/${deliveries.length}`}
      class="deliveries"
    >
      {deliveries.length === 0 ? (
        <p class="empty">{words.noDeliveries}</p>
      ) : (
        <ul>
          {deliveries.map((delivery) => (
            <DeliveryItem
              key={delivery.id}
              transaction={transaction}
              delivery={delivery}
              isRevealed={isRevealed}
              again={again}
            />
          ))}
        </ul>
      )}
    </Panel>
  );
}
