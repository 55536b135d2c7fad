import { limits } from '../../base/limits.ts'
import { type Diagnostic, type DiagnosticCode, diagnostic } from '../diagnostic.ts'
import { findControlTokens } from './control-tokens.ts'
import type { Found } from './found.ts'
import { findInjections } from './injection.ts'
import type { PackText } from './pack-content.ts'
import { findSecrets } from './secrets.ts'

/** Secrets in any file, and in files whose text may reach a model what attacks it. */
export const textFindings = (file: PackText): readonly Diagnostic[] => [
  ...told(
    'secret-found',
    file.path,
    findSecrets(file.text),
    (kind) => `looks like ${kind}; take it out and replace it`,
  ),
  ...(unread.test(file.path) ? [] : attacks(file)),
]

const attacks = ({ path, text }: PackText): readonly Diagnostic[] => [
  ...told('injection-pattern', path, findInjections(text), (kind) => `text that ${kind}`),
  ...told('control-token', path, findControlTokens(text), (kind) => `looks like ${kind}`),
]

// Prompts of suites may try attacks on purpose; neither they nor records are ever context.
const unread = /^(?:evals|runs|indexes|schemas|assets)\//

/** One finding a place, up to a limit; the rest is counted. No part of the text itself is repeated. */
function told(
  code: DiagnosticCode,
  path: string,
  found: readonly Found[],
  say: (kind: string) => string,
): readonly Diagnostic[] {
  const shown = found.slice(0, limits.knowledgeFindingsPerFileMax)
  const more = found.length - shown.length
  return [
    ...shown.map(({ line, kind }) => diagnostic(code, path, `line ${line}: ${say(kind)}`)),
    ...(more > 0 ? [diagnostic(code, path, `and ${more} more such places`)] : []),
  ]
}
