import { byUnit } from '../../base/canonical.ts'
import { version } from '../../base/version.ts'
import type { PackHeader } from '../../model/knowledge/knowledge.ts'
import { entryName } from '../discover/header.ts'
import type { PackText } from './pack-content.ts'

/** What we write into the frontmatter of a pack that we make; `updated` is `2026-03-14`, where it is known. */
type NewHeader = Pick<PackHeader, 'name' | 'description' | 'type' | 'status' | 'profile' | 'mode' | 'grounding'> &
  Pick<PackHeader, 'updated' | 'primaryDocument' | 'primaryOntology'>

/** The entry file. Nobody has reviewed what is new, and so it says. */
export function entryFile(header: NewHeader, guide: string): PackText {
  const metadata: readonly (readonly [string, string | undefined])[] = [
    ['primaryDocument', header.primaryDocument],
    ['primaryOntology', header.primaryOntology],
  ]
  const lines = [
    '---',
    field('name', header.name),
    field('description', header.description),
    field('type', header.type),
    field('status', header.status),
    field('profile', header.profile),
    'runtime:',
    `  ${field('mode', header.mode)}`,
    'trust: unreviewed',
    field('grounding', header.grounding),
    field('version', '0.1.0'),
    ...(header.updated === undefined ? [] : [field('updated', header.updated)]),
    'metadata:',
    ...metadata.flatMap(([key, value]) => (value === undefined ? [] : [`  ${field(key, value)}`])),
    '  producedBy:',
    '    kind: tool',
    '    name: ambit',
    `    ${field('version', version)}`,
    '---',
    '',
  ]
  return { path: entryName, text: `${lines.join('\n')}\n${guide.trim()}\n` }
}

/** Text that YAML could take for something else is quoted, as JSON is: that is YAML too. */
const field = (key: string, value: string): string =>
  `${key}: ${/^[a-z][\w./-]*(?: [\w./-]+)*$/i.test(value) && !words.has(value.toLowerCase()) ? value : JSON.stringify(value)}`

const words = new Set(['true', 'false', 'null', 'yes', 'no', 'on', 'off', 'y', 'n'])

export const jsonFile = (path: string, value: unknown): PackText => ({
  path,
  text: `${JSON.stringify(value, null, 2)}\n`,
})

export const inOrder = (files: readonly PackText[]): readonly PackText[] =>
  files.toSorted((left, right) => byUnit(left.path, right.path))
