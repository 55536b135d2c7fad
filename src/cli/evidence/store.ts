import { resolve } from 'node:path'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { acceptLoss } from '../../runtime/evidence/accept-loss.ts'
import { backUp, restore } from '../../runtime/evidence/backup.ts'
import { loadSettings } from '../../runtime/settings/config.ts'
import { storeAdministrator } from '../identity/who-asks.ts'
import { type CommonOptions, inStore, sourceOf, withStore } from '../session.ts'
import { line, printJson, progress, type Register } from '../terminal/io.ts'

export default ((store, io) => {
  const settingsOf = (options: CommonOptions) => loadSettings(sourceOf(io, options))
  const onRows = (rows: number) => progress(io, `${rows.toLocaleString('en-US')} rows`)

  withStore(store.command('backup <file>'))
    .description(
      'write the whole store to a file, from one snapshot, and check the file; keys and secrets are not in it',
    )
    .action((file: string, options: CommonOptions) =>
      inStore(io, options, async (ambit) => {
        const summary = await backUp(ambit, resolve(io.cwd, file), onRows)
        progress(io)
        if (options.json) return printJson(io, { file, ...summary })
        line(io, `wrote ${summary.rows} rows to ${file}, read back and checked`)
        line(io, 'keys and secrets are not in it: keep a copy of the folder of keys apart from it')
      }),
    )

  withStore(store.command('restore <file>'))
    .description('fill an empty store from a backup, whichever database it came from')
    .action(async (file: string, options: CommonOptions) => {
      const summary = await restore(await settingsOf(options), resolve(io.cwd, file), onRows)
      progress(io)
      if (options.json) return printJson(io, { file, ...summary })
      line(io, `restored ${summary.rows} rows`)
      line(io, 'next: put the folder of keys back, then check all of it with `ambit doctor --deep`')
    })

  withStore(store.command('accept-loss <tenant>'))
    .description('set aside signed heads that prove later records than the store has, after a deliberate restore')
    .action(async (tenant: string, options: CommonOptions) => {
      const id = tenantId(tenant)
      const kept = await acceptLoss(await settingsOf(options), id, async (ambit) => ({
        ...(await storeAdministrator(ambit, io)),
        tenant: id,
      }))
      options.json
        ? printJson(io, { tenant, kept })
        : line(io, `the heads of \`${tenant}\` are kept as ${kept}; new ones start from the store as it is`)
    })
}) satisfies Register
