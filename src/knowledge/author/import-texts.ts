import { limits } from '../../base/limits.ts'
import type { CompiledDocument } from './compile-document.ts'

export interface TitledDocument extends CompiledDocument {
  readonly title: string
}

/** A title as plain words: no markup, links, control or invisible characters; at most 80 characters. */
export function plainTitle(title: string): string {
  const plain = title
    .replace(/!?\[([^[\]]{0,200})\]\([^()]{0,500}\)/g, '$1')
    .replace(/<[^<>]{0,200}>/g, '')
    .replace(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, ' ')
    .replace(/[`*\\[\]{}<>"]+/g, '')
    .replace(/[|#]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return [...plain].slice(0, 80).join('').trim()
}

/** What the documents are about, from their titles, within the limit of a description. */
export function descriptionOf(name: string, documents: readonly TitledDocument[]): string {
  const topic = name.replaceAll('-', ' ')
  const titles = [...new Set(documents.map(({ title }) => title))]
  const headings = [...new Set(documents.flatMap(headingsOf))].filter((heading) => !titles.includes(heading))
  const about = [...titles, ...headings].slice(0, titlesMax)
  const more = titles.length > about.length ? ` and ${titles.length - about.length} more documents` : ''
  const text = `Documentation of ${topic}: ${about.join('; ')}${more}. Use it when a question is about ${topic}.`
  return [...text].slice(0, limits.knowledgeDescriptionCharsMax).join('')
}

const titlesMax = 10

/** The guide with its context map: which document answers what. */
export function guideOf(name: string, documents: readonly TitledDocument[]): string {
  const shown = documents.slice(0, documentsMax)
  const left = documents.length - shown.length
  return `# ${name}

Imported documents. Every section is also a file of its own below \`compiled/splits/\`; the source map says where each stands.

## Context map

${shown.map(entry).join('\n')}
${left > 0 ? `\n${left} more documents lie in \`documents/\`.\n` : ''}
## Known gaps

Nobody has reviewed this pack yet. Its prompts in \`evals/\` were generated from headings.
`
}

const documentsMax = 200

const entry = (each: TitledDocument): string => {
  const headings = headingsOf(each).slice(0, 6).join('; ')
  return `- \`${each.document.path.replaceAll('`', '')}\`: ${each.title}${headings === '' ? '' : ` (${headings})`}`
}

export const headingsOf = ({ title, sections }: TitledDocument): readonly string[] => [
  ...new Set(sections.map((section) => plainTitle(section.title)).filter((each) => each !== '' && each !== title)),
]
