import type { Command } from 'commander'
import { Failure, quote } from '../base/failure.ts'
import type { Pack } from '../knowledge/pack.ts'
import { contentDigestOf, foldersOf } from '../runtime/knowledge/approvals.ts'
import { approvePack } from '../runtime/knowledge/approve.ts'
import type { RootOptions } from '../runtime/knowledge/roots.ts'
import type { Scan } from '../runtime/knowledge/scan.ts'
import { type Io, line, plain } from './io.ts'
import { answer, each, type KnowledgeFlags } from './knowledge-flags.ts'
import { idAt } from './knowledge-resolve.ts'
import { type CommonOptions, inTenant, withTenant } from './session.ts'
import { several } from './several.ts'

type ApproveFlags = KnowledgeFlags & Omit<CommonOptions, 'json'> & { readonly dryRun?: boolean }

/** `approve <pack>`: a person lets an untrusted pack be used, as it is now and where it lies now. */
export function addApprove(knowledge: Command, io: Io): void {
  withTenant(knowledge.command('approve <pack>'))
    .description('let an untrusted pack be used, as long as none of its files changes')
    .option('--text', 'print for people, even into a pipe; so does AMBIT_OUTPUT=text')
    .option('--root <root>', '<scope>[:<ceiling>]=<path>; may be given several times', several)
    .option('--dry-run', 'only say what would be approved')
    .addHelpText(
      'after',
      '\nNames the pack by name, id or folder. Needs the right to administer, and is kept beside the store and on record.\nLook at the pack first: `ambit knowledge lint <dir>`. Exit 0: done. 1: no such pack, or refused. 2: usage.',
    )
    .action((named: string, given: ApproveFlags) =>
      each(io, undefined, given, async (packs, flags, roots) => {
        const scan = await packs.discover()
        const pack = packCalled(idAt(io, named, scan, roots), scan)
        const approval = await approvalOf(pack, roots)
        if (!flags.dryRun) await inTenant(io, flags, (ambit, caller) => approvePack(ambit, caller, approval))
        const { name } = pack.header
        const { digest } = approval
        const status = flags.dryRun ? 'planned' : 'approved'
        return answer(io, 'approve', flags, { findings: [], status, more: { name, id: pack.id, digest } }, () => {
          line(io, `${flags.dryRun ? 'would approve' : 'approved'} ${plain(name)} as it is now, digest ${digest}`)
          line(io, 'it has to be approved again when one of its files changes')
        })
      }),
    )
}

/** The one pack that a word means. Of several with one name a person has to say which. */
function packCalled(named: string, { packs }: Scan): Pack {
  const meant = packs.filter(({ id, header }) => id === named || header.name === named)
  const [pack] = meant
  if (pack === undefined) throw new Failure('pack.not_found', `no knowledge pack is called ${quote(named)}`, { named })
  if (meant.length === 1) return pack
  const ids = meant.map(({ id }) => quote(id)).join(', ')
  throw new Failure('field.invalid', `several packs are called ${quote(named)}: ${ids}`, {}, 'name one by its id')
}

async function approvalOf(pack: Pack, roots: readonly RootOptions[]) {
  const path = foldersOf(roots)(pack)
  const digest = path && (await contentDigestOf(path))
  if (path && digest) return { path, digest }
  const help = 'run `ambit knowledge validate` on its folder'
  throw new Failure('file.unavailable', `a file of ${quote(pack.id)} cannot be read`, {}, help)
}
