import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'
import { entryName } from '../discover/header.ts'
import { packPath } from '../pack-path.ts'
import { decoded } from '../select/places.ts'
import type { PackContent, PackText } from './pack-content.ts'

/** Links of the guide, of documents and of wiki pages to files of the pack that are not there. Splits repeat what they are split from. */
export function checkReferences({ paths, files }: PackContent): readonly Diagnostic[] {
  const known = new Set(paths)
  return files
    .filter(({ path }) => path === entryName || /^(?:documents|wiki)\//.test(path))
    .flatMap((file) => brokenIn(file, known))
}

function brokenIn({ path, text }: PackText, known: ReadonlySet<string>): readonly Diagnostic[] {
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  const targets = new Set([...text.replace(fenced, '').matchAll(links)].map(([, target = '']) => target))
  const broken = [...targets].filter((target) => !known.has(packPath(`${folder}${decoded(target)}`) ?? ''))
  return broken
    .slice(0, limits.knowledgeFindingsPerFileMax)
    .map((target) => diagnostic('reference-broken', path, `links to ${quote(target)}, which is not in the pack`))
}

const fenced = /^(```|~~~)[^\n]*\n[\s\S]*?^\1/gm
// A relative link to a text file, without what follows it: no address, no absolute path, no place in the same file.
const links =
  /\]\(<?(?![a-z][a-z0-9+.-]*:|[/#])([^\s()<>#?]{1,512}\.(?:md|mdx|markdown|txt))(?:[#?][^\s()<>]*)?>?(?:\s[^)\n]{0,200})?\)/gi
