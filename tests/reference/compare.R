# Friedman's test and tests of pairs, by R's own functions:
#   Rscript compare.R   (in this folder)
# compare_data.csv is written too: measures of five methods on nine data sets, with ties.
set.seed(11)
n <- 9
k <- 5
values <- round(matrix(rnorm(n * k, rep(c(0.50, 0.53, 0.56, 0.52, 0.60), each = n), 0.04), n), 2)
colnames(values) <- c("b", "a", "d", "c", "e")
rownames(values) <- paste0("set", n:1)
write.csv(values, "compare_data.csv", quote = FALSE)

printed <- read.csv("../../isingmlc/experiments/paper_tables.csv", check.names = FALSE)
printed <- printed[printed$dataset != "average rank", ]
tables <- c(
  list(data = values),
  lapply(split(printed[, -(1:2)], printed$measure), as.matrix)
)

tests <- do.call(rbind, lapply(names(tables), function(name) {
  test <- friedman.test(tables[[name]])
  data.frame(table = name, statistic = test$statistic, df = test$parameter, pvalue = test$p.value)
}))
write.csv(tests, "compare_friedman.csv", row.names = FALSE, quote = FALSE)

# Conover's test is the t test of two methods in the analysis of variance of the ranks.
pairs_of <- function(name) {
  table <- tables[[name]]
  methods <- colnames(table)
  ranks <- t(apply(table, 1, rank))
  long <- data.frame(
    rank = c(ranks),
    method = factor(rep(methods, each = nrow(table)), levels = methods),
    dataset = factor(rep(seq_len(nrow(table)), ncol(table)))
  )
  rows <- do.call(rbind, lapply(methods[-length(methods)], function(first) {
    long$method <- relevel(long$method, first)
    fit <- summary(lm(rank ~ method + dataset, long))$coefficients
    others <- methods[(match(first, methods) + 1):length(methods)]
    data.frame(first, second = others, conover = fit[paste0("method", others), "Pr(>|t|)"])
  }))
  rows$holm <- p.adjust(rows$conover, "holm")
  rows$fdr_bh <- p.adjust(rows$conover, "BH")
  difference <- abs(colMeans(ranks)[rows$first] - colMeans(ranks)[rows$second])
  error <- sqrt(ncol(table) * (ncol(table) + 1) / (12 * nrow(table)))
  rows$nemenyi <- ptukey(difference / error, ncol(table), Inf, lower.tail = FALSE)
  cbind(table = name, rows)
}
pairs <- do.call(rbind, lapply(names(tables), pairs_of))
write.csv(pairs, "compare_pairs.csv", row.names = FALSE, quote = FALSE)

# Nemenyi's critical differences on ten data sets.
differences <- expand.grid(methods = c(2, 3, 7, 10, 30), alpha = c(0.01, 0.05, 0.1))
differences$difference <- with(
  differences,
  qtukey(1 - alpha, methods, Inf) * sqrt(methods * (methods + 1) / (12 * 10))
)
write.csv(differences, "compare_differences.csv", row.names = FALSE, quote = FALSE)
