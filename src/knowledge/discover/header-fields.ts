import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import {
  type PackHeader,
  type ProducedBy,
  packGrounding,
  packMode,
  packProfile,
  packStatus,
  packTrust,
  packTypes,
} from '../../model/knowledge/knowledge.ts'
import type { DiagnosticCode } from '../diagnostic.ts'
import { clip, isLonger } from './clean.ts'
import type { Fields, Report } from './fields.ts'

export interface HeaderOptions {
  /** Types that are allowed though the standard does not know them. */
  readonly types?: readonly string[] | undefined
}

/** The fields of a header, each finding reported. What is missing is empty: whoever asks decides what that means. */
export function headerOf(fields: Fields, folder: string, { types = [] }: HeaderOptions, report: Report): PackHeader {
  for (const key of ['name', 'description', 'type', 'status'])
    if (fields.isEmpty(key)) report('field-missing', `${quote(key)} is missing or empty`)
  const type = fields.exact('type')
  if (type !== undefined && !isType(type) && !types.includes(type))
    report('type-unknown', `${quote(type)} is no type of the standard, and not allowed here`)
  const choice = chooser(report)
  if (fields.isEmpty('profile')) report('profile-missing', 'no `profile`: read as `wiki-first`')
  return {
    name: nameOf(fields.exact('name'), folder, report),
    description:
      clipped(fields.text('description'), limits.knowledgeDescriptionCharsMax, 'description-long', report) ?? '',
    type: type ?? '',
    status: choice(fields.exact('status'), packStatus.options, 'status-unknown', 'draft') ?? 'draft',
    profile: choice(fields.exact('profile'), packProfile.options, 'profile-unknown', 'wiki-first') ?? 'wiki-first',
    mode: choice(fields.below('runtime').exact('mode'), packMode.options, 'mode-unknown', 'data') ?? 'data',
    trust: choice(fields.exact('trust'), packTrust.options, 'trust-unknown', 'unreviewed') ?? 'unreviewed',
    grounding: choice(fields.exact('grounding'), packGrounding.options, 'grounding-unknown', 'required') ?? 'none',
    ...optionalOf(fields, report),
  }
}

function optionalOf(fields: Fields, report: Report) {
  const metadata = fields.below('metadata')
  const compatibility = fields.text('compatibility')
  return {
    ...texts(fields, ['scope', 'version', 'language', 'license', 'updated']),
    ...defined({
      compatibility: clipped(compatibility, limits.knowledgeCompatibilityCharsMax, 'compatibility-long', report),
    }),
    maintainers: fields.texts('maintainers').map((text) => clip(text, limits.knowledgeFieldCharsMax)),
    ...texts(metadata, ['primaryDocument', 'primaryOntology', 'primaryAnswers']),
    ...defined({ producedBy: producedBy(metadata.below('producedBy')) }),
  }
}

function producedBy(fields: Fields): ProducedBy | undefined {
  const found = texts(fields, ['kind', 'name', 'version', 'digest'])
  return Object.keys(found).length === 0 ? undefined : found
}

function texts<const K extends string>(fields: Fields, keys: readonly K[]): { readonly [key in K]?: string } {
  const entries = keys.map((key) => [key, fields.text(key)] as const)
  return Object.fromEntries(
    entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, clip(value, limits.knowledgeFieldCharsMax)]])),
  ) as { readonly [key in K]?: string }
}

/** Reports a name out of form. It is not mended: it would be another name. */
function nameOf(name: string | undefined, folder: string, report: Report): string {
  if (name === undefined) return ''
  if (!/^[a-z0-9-]+$/.test(name) || name.length > limits.knowledgeNameCharsMax)
    report('name-invalid', `${quote(name)} is not 1-64 of \`a-z 0-9 -\``)
  else if (/^-|-$|--/.test(name)) report('name-hyphen', `${quote(name)} has a hyphen at an end, or two in a row`)
  if (folder !== '' && folder !== name)
    report('name-directory', `${quote(name)} lies in a directory called ${quote(folder)}`)
  return name
}

const isType = (type: string): boolean => packTypes.some((known) => known === type) || customType.test(type)

const customType = /^custom:[\p{L}\p{N}][\p{L}\p{M}\p{N}._:/-]{0,127}$/u

/** A value of a list, exactly as spelled; `fallback` for one that is not in it, undefined for none. */
const chooser =
  (report: Report) =>
  <T extends string>(
    value: string | undefined,
    options: readonly T[],
    code: DiagnosticCode,
    fallback: T,
  ): T | undefined => {
    const found = options.find((option) => option === value)
    if (value === undefined || found !== undefined) return found
    report(code, `${quote(value)} is not known: read as \`${fallback}\``)
    return fallback
  }

function clipped(text: string | undefined, charsMax: number, code: DiagnosticCode, report: Report): string | undefined {
  if (text === undefined || !isLonger(text, charsMax)) return text
  report(code, `longer than ${charsMax} characters: cut`)
  return clip(text, charsMax)
}
