// What `import … from 'ambit/knowledge'` gives.

export type { CatalogEntry } from '../../knowledge/catalog.ts'
export type { Diagnostic, DiagnosticCode, Severity } from '../../knowledge/diagnostic.ts'
export type { Pack, QuarantinedPack } from '../../knowledge/pack.ts'
export type { ContextResolution } from '../../model/knowledge/records.ts'
export type { ResolutionTrace } from '../../model/knowledge/trace.ts'
export type { Evaluation } from './evaluate.ts'
export { type Knowledge, type KnowledgeOptions, openKnowledge } from './knowledge.ts'
export type { KnowledgeBlock, Resolution, ResolveRequest } from './resolution.ts'
export type { KnowledgeRoot } from './roots.ts'
export type { Scan } from './scan.ts'
