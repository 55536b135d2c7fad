import { join } from 'node:path'
import { formatTime } from '../../base/time.ts'
import { type FileRoot, openRoot } from '../../files/root.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { lastCheckpoint } from '../../storage/tables/checkpoints.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import { administer } from '../identity/admin.ts'
import { type Caller, demand, operator } from '../identity/caller.ts'
import { openDatabase, openWith, type Runtime } from '../runtime.ts'
import type { Settings } from '../settings/config.ts'
import { systemClock } from '../system.ts'
import { headFile, headsName } from './head-file.ts'

/**
 * Takes the store as it is: after a deliberate restore of an older backup, or on a machine that has no heads of it yet.
 * A head file that says otherwise is set aside under another name and stays, as proof that later records existed; the
 * acceptance is recorded as `by`, which is asked before anything changes; the trusted program itself unless given. Answers
 * the new name, or undefined when there was no file.
 */
export async function acceptLoss(
  settings: Settings,
  tenant: TenantId,
  by: (opened: Pick<Runtime, 'store' | 'clock' | 'settings'>) => Promise<Caller> = async () => operator(tenant),
): Promise<string | undefined> {
  let aside: string | undefined
  let caller: Caller
  const store = await openStore(await openDatabase(settings))
  try {
    await store.read(() => getTenant(tenant))
    caller = await by({ store, clock: systemClock, settings })
    demand(caller, 'administer')
    const files = await openRoot(join(settings.dataDir, headsName), { create: true, mode: 0o700 })
    aside = await setAside(files, tenant)
    await adoptHead(store, files, tenant)
  } finally {
    await store.close()
  }
  const ambit = await openWith(settings)
  try {
    await administer(ambit, caller, 'ambit.loss.accepted', { set_aside: aside ?? null })
  } finally {
    await ambit.close()
  }
  return aside
}

/** Starts a head file from the newest head the store has, where there is no file yet. */
export async function adoptHead(store: Store, files: FileRoot, tenant: TenantId): Promise<void> {
  const last = await store.read(() => lastCheckpoint(tenant))
  if (last !== undefined) await files.append(headFile(tenant), last.body)
}

const headFileBytesMax = 1024 * 1024 * 1024

async function setAside(files: FileRoot, tenant: TenantId): Promise<string | undefined> {
  const name = headFile(tenant)
  if (!(await files.list()).includes(name)) return undefined
  const aside = `${name}.${formatTime(systemClock.now()).replace(/[:.]/g, '-')}.set-aside`
  await files.write(aside, await files.read(name, { bytesMax: headFileBytesMax }), { exclusive: true })
  await files.remove(name)
  return aside
}
