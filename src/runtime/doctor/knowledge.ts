import { counted } from '../../base/words.ts'
import { makeScanner } from '../knowledge/scan.ts'
import type { Settings } from '../settings/config.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

/** The configured knowledge roots, and what in them cannot be read; nothing where none are configured. */
export async function* checkKnowledge({ knowledge }: Settings): AsyncGenerator<Finding> {
  if (knowledge.roots === undefined) return
  const { roots, packs, quarantined } = await makeScanner().scan(knowledge.roots, knowledge)
  const place = 'check its `path` in the configuration'
  for (const { id } of roots.filter(({ missing }) => missing))
    yield fail('knowledge', `the root \`${id}\` is not there, or cannot be read`, place)
  if (quarantined.length === 0)
    return yield ok('knowledge', `${counted(packs.length, 'pack')} in ${counted(roots.length, 'root')}`)
  const unusable = `${quarantined.length} of ${packs.length + quarantined.length} packs cannot be used`
  yield warn('knowledge', unusable, 'run `ambit knowledge discover`: it says what is wrong with each')
}
