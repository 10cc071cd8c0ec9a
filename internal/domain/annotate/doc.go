// Package annotate reads a transcript the way that the rules of package offlinemodel
// need it: sentences with their marks, tool calls with what came back, content
// words, what users ask for, and a mask over what is private. It knows English
// and Chinese, and nothing of requests, schemas or answers.
package annotate
