import { join } from 'node:path'
import { Failure, quote } from '../base/failure.ts'
import { formatTime } from '../base/time.ts'
import { openRoot } from '../files/root.ts'
import type { TenantId } from '../model/tenant-id.ts'
import type { Settings } from './config.ts'
import { headFile, headsName } from './heads.ts'
import { systemClock } from './system.ts'

/**
 * Sets a tenant's head file aside under another name, so that a store restored from an older backup starts again.
 * The file stays: it is the proof that later records existed. Answers its new name.
 */
export async function acceptLoss(settings: Settings, tenant: TenantId): Promise<string> {
  const name = headFile(tenant)
  const files = await openRoot(join(settings.dataDir, headsName)).catch(() => Promise.reject(noHeads(tenant)))
  if (!(await files.list()).includes(name)) throw noHeads(tenant)
  const aside = `${name}.${formatTime(systemClock.now()).replace(/[:.]/g, '-')}.set-aside`
  await files.write(aside, await files.read(name), { exclusive: true })
  await files.remove(name)
  return aside
}

const noHeads = (tenant: TenantId): Failure =>
  new Failure('file.not_found', `tenant ${quote(tenant)} has no signed heads here`, {}, 'there is nothing to set aside')
