import { relative, resolve } from 'node:path'
import { Failure, quote } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { type FileRoot, openRoot } from '../../files/root.ts'
import { packApprovals } from '../../model/config.ts'
import { parseAs } from '../../model/parse.ts'
import { administer } from '../admin.ts'
import type { Ambit } from '../ambit.ts'
import type { Caller } from '../caller.ts'
import type { PackApproval } from './approvals.ts'
import { unlessMissing } from './records.ts'

const fileName = 'knowledge-approvals.json'

/**
 * Lets the pack in a folder be used as it is now. Needs the right to administer; who said so is on record before it
 * counts. An earlier approval of the same folder goes.
 */
export async function approvePack(ambit: Ambit, caller: Caller, { path, digest }: PackApproval): Promise<void> {
  const { dataDir } = ambit.settings
  // Seen from the folder of the data, so that both can be moved together.
  const kept = { path: relative(dataDir, path), digest }
  await administer(ambit, caller, 'ambit.knowledge.approved', kept)
  const folder = await openRoot(dataDir, { create: true })
  await folder.exclusive(async () => {
    const others = (await readFrom(folder)).filter((one) => one.path !== kept.path)
    await folder.write(fileName, Buffer.from(`${JSON.stringify([...others, kept], null, 2)}\n`))
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
  if (bytes === undefined) return []
  try {
    return parseAs(packApprovals, readJson(bytes), quote(fileName))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const help = 'mend it, or delete it and approve the packs again'
    throw new Failure('file.invalid', `the approvals of knowledge packs cannot be read: ${quote(fileName)}`, {}, help)
  }
}
