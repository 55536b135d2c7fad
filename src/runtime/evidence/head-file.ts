import { readJson } from '../../base/json.ts'
import type { FileRoot } from '../../files/root.ts'
import { unlessMissing } from '../../files/trouble.ts'
import { type TenantId, tenantId, tenantIdPattern } from '../../model/identity/tenant-id.ts'

/** The folder of heads, below the data folder. */
export const headsName = 'heads'

const suffix = '.jsonl'
export const headFile = (tenant: TenantId): string => `${tenant}${suffix}`

/** The tenants that have a head file; what else lies in the folder does not matter. */
export async function tenantsWithHeads(files: FileRoot): Promise<readonly TenantId[]> {
  const names = (await files.list())
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
  return names.filter((name) => tenantIdPattern.test(name)).map(tenantId)
}

const tailBytes = 64 * 1024

/** The newest head in a tenant's file, unverified; undefined when there is no file or nothing whole in it. */
export async function newestHead(files: FileRoot, tenant: TenantId): Promise<unknown> {
  const bytes = await files.readEnd(headFile(tenant), tailBytes).catch(unlessMissing)
  const heads = String(bytes ?? '')
    .split('\n')
    .map(parsed)
  // Two processes that sign at once may append in either order, so the largest counts, not the last.
  return heads.reduce<unknown>((newest, head) => (sizeOf(head) >= sizeOf(newest) ? head : newest), undefined)
}

/** What says no size comes first, to be refused. */
function sizeOf(head: unknown): number {
  if (head === undefined) return -1
  const { log_size } = Object(head) as { log_size?: unknown }
  return typeof log_size === 'number' ? log_size : Number.POSITIVE_INFINITY
}

function parsed(line: string): unknown {
  try {
    return line === '' ? undefined : readJson(line)
  } catch {
    // A line torn by a crash; the others count.
    return undefined
  }
}
