/** `migrate-store`: moves accounts from the embedded store to MongoDB. */
import type { Command } from 'commander';
import { withoutSecrets } from '../store/connection-string.ts';
import type { MigrateStoreOptions } from './migrate-store.ts';
import { collect } from './options.ts';
import type { ProcessShell } from './running/process.ts';

/** Adds `migrate-store`. */
export function addMigrateCommand(program: Command, shell: ProcessShell): void {
  program
    .command('migrate-store')
    .description(
      'moves accounts from the embedded store in DATA_DIR to MongoDB; where it was stopped, it goes on',
    )
    .requiredOption('--to <uri>', 'the MongoDB connection string (mongodb://...)')
    .option('--account <id>', 'only this account; may stand several times (default: all)', collect)
    .exitOverride((error) => {
      error.message = withoutSecrets(error.message);
      throw error;
    })
    .action(async (options: MigrateStoreOptions) => {
      try {
        // Loaded only where it is used, since every command starts with this module.
        const { migrateStore } = await import('./migrate-store.ts');
        shell.say(await migrateStore(shell, options));
      } catch (error) {
        if (error instanceof Error) error.message = withoutSecrets(error.message, options.to);
        throw error;
      }
    });
}
