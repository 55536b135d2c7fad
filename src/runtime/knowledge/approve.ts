import { relative, resolve } from 'node:path'
import { quote } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { type FileRoot, openRoot } from '../../files/root.ts'
import { packApprovals } from '../../model/config.ts'
import { parseAs } from '../../model/parse.ts'
import { administer } from '../admin.ts'
import type { Ambit } from '../ambit.ts'
import type { Caller } from '../caller.ts'
import type { PackApproval } from './approvals.ts'
import { attempt } from './attempt.ts'
import { unlessMissing } from './records.ts'

const fileName = 'knowledge-approvals.json'

/**
 * Lets the pack in a folder be used as it is now, in place of an earlier approval of the same folder. Needs the right to
 * administer; who said so is on record before it counts.
 */
export async function approvePack(ambit: Ambit, caller: Caller, { path, digest }: PackApproval): Promise<void> {
  const { dataDir } = ambit.settings
  // Seen from the folder of the data, so that both can be moved together.
  const approval = { path: relative(dataDir, path), digest }
  await administer(ambit, caller, 'ambit.knowledge.approved', approval)
  const folder = await openRoot(dataDir, { create: true })
  await folder.exclusive(async () => {
    const others = (await readFrom(folder)).filter((one) => one.path !== approval.path)
    await folder.write(fileName, Buffer.from(`${JSON.stringify([...others, approval], null, 2)}\n`))
  })
}

/** What `approvePack` has kept in the folder of the data. */
export async function keptApprovals(dataDir: string): Promise<readonly PackApproval[]> {
  const folder = await openRoot(dataDir).catch(unlessMissing)
  const kept = folder === undefined ? [] : await readFrom(folder)
  return kept.map(({ path, digest }) => ({ path: resolve(dataDir, path), digest }))
}

async function readFrom(folder: FileRoot): Promise<readonly PackApproval[]> {
  const bytes = await folder.read(fileName).catch(unlessMissing)

  return bytes === undefined
    ? []
    : parseAs(
        packApprovals,
        attempt(() => readJson(bytes)),
        quote(fileName),
      )
}
