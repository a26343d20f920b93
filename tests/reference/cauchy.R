# Cauchy combinations of p-values by R's own Cauchy distribution, after Liu and Xie (2020).
# Writes cauchy.csv: one line per p-value, those of one combination share a number.
#   Rscript cauchy.R
sets <- list(
  c(0.01, 0.5, 0.3), c(0.05), c(0.9), c(1e-12, 0.2, 0.7, 0.04), c(1e-250, 0.98),
  c(0.5, 0.5), c(0.6, 0.7, 0.95), c(1e-14, 1e-15, 0.9), c(0.049, 0.051, 0.05, 0.3, 0.2, 0.8)
)
lines <- NULL
for (i in seq_along(sets)) {
  p <- sets[[i]]
  # The same as tan((0.5 - p) * pi), with all digits where p is small.
  x <- 1 / tan(pi * p)
  statistic <- mean(x)
  log10p <- pcauchy(statistic, lower.tail = FALSE, log.p = TRUE) / log(10)
  lines <- rbind(lines, data.frame(set = i, p = p, statistic = statistic, log10p = log10p))
}
write.csv(format(lines, digits = 17, trim = TRUE), "cauchy.csv", row.names = FALSE, quote = FALSE)
cat(R.version.string, "\n")
