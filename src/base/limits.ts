/** Every limit of the runtime, in one place; those of the server can be set otherwise. Sizes in bytes, times in milliseconds. */
export const limits = {
  jsonBytesMax: 1024 * 1024,
  jsonDepthMax: 64,
  upstreamFileBytesMax: 16 * 1024 * 1024,
  bundleBytesMax: 256 * 1024 * 1024,
  idCharsMax: 128,
  wireIdCharsMax: 256,
  authorityRefsMax: 32,
  baggageMembersMax: 64,
  baggageBytesMax: 8 * 1024,
  grantBytesMax: 512,
  grantSegmentsMax: 32,
  grantSegmentBytesMax: 128,
  grantsMax: 64,
  mandateDepthMax: 8,
  conditionDepthMax: 32,
  conditionPartsMax: 1_000,
  explainAttemptsMax: 1_000,
  /** Of what is compiled of a JSON Schema: its parts, and again those of each that it refers to; a long list is more. */
  schemaPartsMax: 3_000,
  schemaPatternsMax: 500,
  /** Of all names and ids from the top of a schema to any place in it. */
  schemaPathCharsMax: 2_048,
  /** Of all patterns of a schema, with repeated parts as often as they are. */
  patternStatesMax: 50_000,
  /** To hold one value against a schema: part of a second. */
  schemaStepsMax: 8_000_000,
  /** Of a value that is so large that this is more. */
  schemaStepsPerCharMax: 32,
  /** However large it is, as problems that are found on the way take room. */
  schemaAppliedStepsMax: 24_000_000,
  /** To find everything that is wrong with a value that was refused. */
  schemaProblemStepsMax: 200_000,
  schemaProblemsMax: 32,
  schemaProblemsShownMax: 5,
  historyEntriesMax: 128,
  recordedFactCharsMax: 4_096,
  quotedCharsMax: 80,
  fenceAttributeCharsMax: 256,
  knowledgeDescriptionCharsMax: 1_024,
  toolNameCharsMax: 64,
  /** What the strictest of the model providers takes. */
  toolDescriptionCharsMax: 1_024,
  /** Of values in the schema of a tool that others wrote: those told in its description, and those shown in their place. */
  toolValueCharsMax: 256,
  toolValuesMax: 128,
  tokenRunCharsMax: 256,
  pageRowsMax: 1_000,
  pageRowsDefault: 100,
  purgedPerTurnMax: 100,
  replayEventsMax: 10_000,
  storeWaitMs: 5_000,
  commitsPerBatchMax: 256,
  eventsPerCommitMax: 1_000,
  /** Requests for approval of one caller that wait for people. */
  pendingRequestsPerCallerMax: 200,
  unsignedEventsKeptMax: 10_000,
  callTimeoutMs: 30_000,
  callTimeoutMaxMs: 3_600_000,
  presenceMs: 15_000,
  /** Between two times that a process tidies up its open gateways. */
  tidyMs: 5_000,
  /** How long a tenant's host stays open after its last use, and how many tenants may have one open at once. */
  hostIdleMs: 300_000,
  openHostsMax: 256,
  /** How often the tenants without an open host are searched for work that is due. */
  sweepMs: 600_000,
  reconcileMs: 10_000,
  reconcileAsksMax: 8,
  callWaitMs: 30_000,
  recordedResultMs: 86_400_000,
  requiredResultMs: 365 * 86_400_000,
  recordedBytesMax: 4 * 1024 * 1024,
  chunksKeptMax: 10_000,
  emittedEventsMax: 256,
  errorCharsMax: 1_000,
  secretFormCharsMax: 4_096,
  secretFormsCharsMax: 64 * 1024,
  unreadStreamBytesMax: 8 * 1024 * 1024,
  connectMs: 10_000,
  idleConnectionMs: 4_000,
  redirectsMax: 3,
  answerBytesMax: 4 * 1024 * 1024,
  refusalBytesMax: 64 * 1024,
  attemptsMax: 5,
  backoffMs: 1_000,
  backoffMaxMs: 30_000,
  importedSchemaCharsMax: 16 * 1024,
  importedOperationsMax: 2_000,
  breakerFailuresMax: 5,
  breakerOpenMs: 30_000,
  bodyMs: 10_000,
  headersMs: 10_000,
  connectionsMax: 4_096,
  /** How long it is known whether the store answers. */
  readyMs: 1_000,
  requestsAtOnceMax: 1_024,
  requestsPerSecondMax: 10_000,
  rateCallersMax: 10_000,
  refusalsPerSecondMax: 10,
  retryAfterS: 1,
  headerCharsMax: 16_384,
  /** One message of an MCP server, and so one answer. */
  mcpMessageBytesMax: 4 * 1024 * 1024,
  /** Subscriptions that one caller has open at a host. */
  mcpListenersPerCallerMax: 64,
  mcpMessagesPerSecondMax: 5_000,
  mcpLinesPerSecondMax: 100_000,
  mcpUnaskedBytesPerSecondMax: 16 * 1024 * 1024,
  mcpUnsentBytesMax: 8 * 1024 * 1024,
  /** Answers to a server over HTTP that it has not taken yet, and how long it may take for one. */
  mcpRepliesMax: 64,
  mcpReplyMs: 5_000,
  mcpProbeMs: 5_000,
  mcpConnectMs: 15_000,
  mcpGraceMs: 1_500,
  mcpListMs: 300_000,
  mcpListPauseMs: 250,
  mcpStreamPauseMs: 250,
  mcpHeldLookMs: 15_000,
  mcpPagesMax: 64,
  mcpToolsMax: 1_000,
  mcpDefinitionBytesMax: 256 * 1024,
  statementsMax: 10_000,
  /** As it is sealed: it has room for the words of a caller and of a handler, and for all that it says besides. */
  eventBytesMax: 1024 * 1024,
  eventWordsBytesMax: 448 * 1024,
  /** Inside a bundle an event lies two levels down, and its record one more: all of it stays within `jsonDepthMax`. */
  eventDepthMax: 60,
  blobBytesMax: 8 * 1024 * 1024,
  backupLineBytesMax: 64 * 1024 * 1024,
  fileBytesMax: 64 * 1024 * 1024,
  stdinBytesMax: 1024 * 1024,
  secretBytesMax: 64 * 1024,
  secretsFileBytesMax: 16 * 1024 * 1024,
  knowledgeFrontmatterBytesMax: 64 * 1024,
  /** What is read of an entry file at first; hardly any frontmatter is longer. */
  knowledgeHeadBytes: 4 * 1024,
  knowledgeYamlDepthMax: 8,
  knowledgeYamlNodesMax: 500,
  /** Nobody writes so many within the limit of bytes, and the parser slows down with their square. */
  knowledgeYamlLinesMax: 5_000,
  knowledgeNameCharsMax: 64,
  knowledgeCompatibilityCharsMax: 499,
  knowledgeDepthMax: 6,
  knowledgeFoldersMax: 50_000,
  knowledgeFilesMax: 20_000,
  knowledgeFileBytesMax: 16 * 1024 * 1024,
  /** Folders walked before others get a turn. */
  knowledgeFoldersPerTurn: 200,
  /** Findings of one kind that are told one by one. */
  knowledgeFindingsMax: 1_000,
  /** A file changed so shortly before it was read may change again within the same timestamp. */
  knowledgeSettledMs: 2_000,
  knowledgeWatchPauseMs: 100,
  /** Files of which sections, records and the like are remembered. */
  knowledgeFilesKeptMax: 10_000,
  /** Packs whose suites are looked for without finding the pack again. */
  knowledgeSuitesKeptMin: 10_000,
  /** Packs that stay open while nothing in them changes. */
  knowledgePacksKeptMin: 64,
  /** Of a longer file tokens are estimated when it is divided, and counted only of what is chosen. */
  knowledgeExactCharsMax: 1024 * 1024,
  knowledgeBudgetTokens: 2_000,
  /** Of the list of packs that a model is shown. */
  knowledgeCatalogTokens: 8_000,
  /** Of fields that have no limit of their own: versions, paths, names of maintainers. */
  knowledgeFieldCharsMax: 1_024,
  /** Candidates that a trace tells of. */
  knowledgeTracedMax: 50,
  knowledgeTracesReadMax: 10_000,
  knowledgeTermCharsMax: 64,
  knowledgeQueryCharsMax: 8_192,
  knowledgePromptsPerPackMax: 200,
  knowledgePromptCharsMax: 1_024,
  knowledgeFindingsPerFileMax: 100,
  knowledgeDocumentsMax: 5_000,
  knowledgeCheckedBytesMax: 64 * 1024 * 1024,
  knowledgeSectionTokensMax: 400,
  /** Of one file; a file of 16 MiB has about as many where they are short. */
  knowledgeSectionsMax: 50_000,
  knowledgeHeadingCharsMax: 120,
  /** Of sources that one section names. */
  knowledgeMarksMax: 32,
  knowledgeQueryTermsMax: 64,
  /** Of sections that compete in one pack for one query; the rest is too far behind to matter. */
  knowledgeCandidatesMax: 256,
  /** Of one pack, to a model. */
  knowledgeWarningsShownMax: 12,
  knowledgeResourcesShownMax: 200,
  /** Of ontology and answers in one file. */
  knowledgeRecordsMax: 20_000,
  /** Of constraints or relations that one of them brings along. */
  knowledgeRecordLinesMax: 16,
  knowledgeAlsoNamedMax: 2,
} as const
