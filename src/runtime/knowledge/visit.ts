import { basename } from 'node:path'
import { quote } from '../../base/failure.ts'
import type { Entry, Walked } from '../../files/walk.ts'
import { diagnostic } from '../../knowledge/diagnostic.ts'
import { entryName } from '../../knowledge/discover/header.ts'
import { lowerTrust, type Pack, type QuarantinedPack } from '../../knowledge/pack.ts'
import { type HeadReader, headOf } from './entry-head.ts'
import type { Findings } from './findings.ts'
import type { IsIgnored } from './ignored.ts'
import { ceilingOf, type RootOptions } from './roots.ts'

export interface VisitDeps {
  readonly root: RootOptions
  /** Place of the root in the configuration. */
  readonly order: number
  readonly reader: HeadReader
  readonly findings: Findings
  readonly isIgnored: IsIgnored
}

export interface Visitor {
  readonly packs: readonly Pack[]
  readonly quarantined: readonly QuarantinedPack[]
  /** Takes note of a folder and answers where to go on. The walk stops at a pack. */
  into(folder: Walked): readonly Entry[]
}

export function makeVisitor(deps: VisitDeps): Visitor {
  const packs: Pack[] = []
  const quarantined: QuarantinedPack[] = []
  const roots = new Set<string>()
  return {
    packs,
    quarantined,
    into: (folder) => {
      if (folder.path !== folder.realPath && liesIn(folder.realPath, roots)) return []
      const entry = folder.entries.find(({ name }) => name === entryName)
      if (entry?.kind === 'file') {
        roots.add(folder.realPath)
        const pack = readPack(deps, folder)
        if ('header' in pack) packs.push(pack)
        else quarantined.push(pack)
        return []
      }
      if (entry !== undefined) quarantined.push(wrongKind(deps.root, folder))
      else tellSpelling(folder, deps.findings)
      return goOn(deps, folder)
    },
  }
}

/** A folder of a pack that a link leads to is still part of that pack. */
function liesIn(path: string, packs: ReadonlySet<string>): boolean {
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) if (packs.has(path.slice(0, at))) return true
  return packs.has('')
}

const idOf = (root: RootOptions, path: string): string => `${root.id}:${path}`

function readPack({ root, order, reader }: VisitDeps, { path, realPath }: Walked): Pack | QuarantinedPack {
  const id = idOf(root, path)
  const folder = basename(path === '' ? reader.place.real : path)
  const { header, name, extra, digest, diagnostics } = headOf(reader, { id, folder, realPath })
  if (header === undefined) return { id, root: root.id, path, ...(name !== undefined && { name }), diagnostics }
  const trust = lowerTrust(header.trust, ceilingOf(root))
  const clipped = diagnostic('trust-clipped', entryName, `declared ${quote(header.trust)}, counts as ${quote(trust)}`, {
    pack: id,
  })
  const place = { id, root: root.id, scope: root.scope, order, path, at: root.at ?? '' }
  const findings = trust === header.trust ? diagnostics : [...diagnostics, clipped]
  return { ...place, header, trust, digest, extra, diagnostics: findings }
}

function wrongKind(root: RootOptions, { path }: Walked): QuarantinedPack {
  const id = idOf(root, path)
  const why = `${quote(entryName)} is not a regular file`
  return { id, root: root.id, path, diagnostics: [diagnostic('entry-kind', entryName, why, { pack: id })] }
}

function tellSpelling({ path, entries }: Walked, findings: Findings): void {
  for (const { name, kind } of entries) {
    if (kind === 'file' && name.length === entryName.length && name.toLowerCase() === entryName.toLowerCase())
      findings.add('entry-name', below(path, name), `only ${quote(entryName)} makes a pack, spelled like that`)
  }
}

function goOn({ root, findings, isIgnored }: VisitDeps, folder: Walked): readonly Entry[] {
  return folder.entries.filter(({ name, kind }) => {
    if (kind === 'file' || kind === 'other' || name === entryName || isIgnored(folder, name)) return false
    if (kind === 'folder' || root.links === 'within-root') return true
    findings.add('link-skipped', below(folder.path, name), 'links are not followed in this root')
    return false
  })
}

const below = (path: string, name: string): string => (path === '' ? name : `${path}/${name}`)
