/**
 * Why a file of a pack is no part of the format and stays closed: Skills, scripts and programs. A document does not
 * become a program by its permissions, which some file systems give to everything.
 */
export function foreignKind(path: string, isExecutable: boolean): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  if (name === 'skill.md') return 'a Skill'
  if (path.toLowerCase().startsWith('scripts/')) return 'a script'
  const ending = /\.[a-z0-9]+$/.exec(name)?.[0] ?? ''
  if (programs.has(ending) || (isExecutable && !documents.has(ending))) return 'a program'
  return undefined
}

const endings = (list: string): ReadonlySet<string> => new Set(list.split(' ').map((ending) => `.${ending}`))

const programs = endings('sh bash zsh fish ps1 bat cmd com exe msi dll so dylib jar wasm')
const documents = endings(
  'md markdown mdx txt rst adoc json jsonl csv tsv yaml yml html htm xml pdf png jpg jpeg gif svg webp',
)
