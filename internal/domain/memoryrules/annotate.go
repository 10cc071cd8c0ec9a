// Package annotate analyzes a transcript for the rules of package offlinemodel. It finds sentences
// with their marks, tool calls with results, content words and users' requests, and masks private
// values. It supports English and Chinese. It does not depend on requests, schemas or replies.

package memoryrules
