import { relative, resolve } from 'node:path'
import { readJson } from '../../base/json.ts'
import { openRoot } from '../../files/root.ts'
import { unlessMissing } from '../../files/trouble.ts'
import { packApproval } from '../../model/config/config.ts'
import { administer } from '../identity/admin.ts'
import type { Caller } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'
import { type PackApproval, realPath } from './approvals.ts'
import { attempt } from './attempt.ts'

const fileName = 'knowledge-approvals.jsonl'

/** Lets the pack in a folder be used as it is now. Needs the right to administer; who said so is on record before it counts. */
export async function approvePack(ambit: Runtime, caller: Caller, { path, digest }: PackApproval): Promise<void> {
  const { dataDir } = ambit.settings
  // Seen from the folder of the data, so that both can be moved together.
  const approval = { path: relative(dataDir, path), digest }
  await administer(ambit, caller, 'ambit.knowledge.approved', approval)
  await (await openRoot(dataDir, { create: true })).append(fileName, JSON.stringify(approval))
}

/** What `approvePack` has kept in the folder of the data: of each pack the newest. A line that is none approves nothing. */
export async function keptApprovals(dataDir: string): Promise<readonly PackApproval[]> {
  const folder = await openRoot(dataDir).catch(unlessMissing)
  const lines = String((await folder?.read(fileName).catch(unlessMissing)) ?? '').split('\n')
  const approvals = lines.flatMap((line) => packApproval.safeParse(attempt(() => readJson(line))).data ?? [])
  const resolved = approvals.map(({ path, digest }) => ({ path: resolve(dataDir, path), digest }))
  return [...new Map(resolved.map((one) => [realPath(one.path), one])).values()]
}
