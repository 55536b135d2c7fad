import { limits } from '../../base/limits.ts'
import type { SelectionSuite } from '../../model/knowledge/records.ts'
import { headingsOf, type TitledDocument } from './import-texts.ts'

/** Headings that say something, as prompts that should select the pack; undefined where there are none. */
export function generatedSuite(name: string, documents: readonly TitledDocument[]): SelectionSuite | undefined {
  const perDocument = documents.map((each) =>
    headingsOf(each)
      .filter(says)
      .map((heading) => asked(heading, each.title)),
  )
  const prompts = [...new Set(inTurns(perDocument))].slice(0, limits.knowledgePromptsPerPackMax)
  const cases = prompts.map((prompt, index) => ({
    id: `generated-${index + 1}`,
    prompt,
    expected: 'select' as const,
    reason: 'generated from a heading',
  }))
  return cases.length === 0 ? undefined : { pack_name: name, cases }
}

/** The first of each, then the second of each: a limit cuts all documents alike. */
function inTurns(lists: readonly (readonly string[])[]): readonly string[] {
  const longest = Math.max(0, ...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat()
}

const asked = (heading: string, title: string): string => (heading.endsWith('?') ? heading : `${heading} (${title})`)

const says = (heading: string): boolean =>
  heading.length >= 4 &&
  /\p{L}{3}/u.test(heading) &&
  !common.has(
    heading
      .toLowerCase()
      .replace(/[^\p{L} ]/gu, '')
      .trim(),
  )

const common = new Set(
  'introduction,overview,usage,use,install,installation,getting started,quick start,options,parameters,arguments,returns,return value,example,examples,license,contributing,contributors,changelog,table of contents,contents,see also,notes,note,api,methods,properties,events,configuration,references,summary,faq,requirements,acknowledgements,methods and properties,credits,support,description'.split(
    ',',
  ),
)
