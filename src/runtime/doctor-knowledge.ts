import { counted } from '../base/counted.ts'
import type { Settings } from './config.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { makeScanner } from './knowledge/scan.ts'

/** The configured knowledge roots, and what in them cannot be read; nothing where none are configured. */
export async function* checkKnowledge({ knowledge }: Settings): AsyncGenerator<Finding> {
  if (knowledge.roots === undefined) return
  const { roots, packs, quarantined } = await makeScanner().scan(knowledge.roots, knowledge)
  for (const { id, missing } of roots)
    if (missing)
      yield fail(
        'knowledge',
        `the root \`${id}\` is not there, or cannot be read`,
        'check its `path` in the configuration',
      )
  if (quarantined.length > 0)
    yield warn(
      'knowledge',
      `${quarantined.length} of ${packs.length + quarantined.length} packs cannot be used`,
      'run `ambit knowledge discover`: it says what is wrong with each',
    )
  else yield ok('knowledge', `${counted(packs.length, 'pack')} in ${counted(roots.length, 'root')}`)
}
