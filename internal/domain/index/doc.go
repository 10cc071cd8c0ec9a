// Package index has the documents that search finds, queries and hits, and the embedding spaces of a workspace.
package index
