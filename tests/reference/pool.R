# Rubin's rules by mitools; degrees of freedom for small samples as Barnard and Rubin (1999, eq. 2-3)
# print them and mice has them (mitools leaves 1 + 1/m out of one place); and D2 as Li, Meng, Raghunathan and Rubin (1991) print it:
#   Rscript pool.R
# Estimates, errors and statistics are drawn here and written beside what comes of them.
library(mitools)
set.seed(20)
m <- 6
p <- 5
estimates <- matrix(rnorm(m * p, rep(seq(-1, 1, length.out = p), each = m), 0.1), m)
errors <- matrix(runif(m * p, 0.15, 0.4), m)
rows <- data.frame()
for (df_complete in c(20, 400, Inf)) {
  pooled <- MIcombine(
    results = lapply(1:m, function(i) estimates[i, ]),
    variances = lapply(1:m, function(i) diag(errors[i, ]^2)),
    df.complete = df_complete
  )
  between <- apply(estimates, 2, var)
  gamma <- (1 + 1 / m) * between / diag(vcov(pooled))
  observed <- (df_complete + 1) / (df_complete + 3) * df_complete * (1 - gamma)
  if (is.infinite(df_complete)) observed <- rep(Inf, p)
  df <- 1 / (1 / ((m - 1) / gamma^2) + 1 / observed)
  if (is.infinite(df_complete)) stopifnot(all.equal(df, unname(pooled$df)))
  r <- gamma / (1 - gamma)
  rows <- rbind(rows, data.frame(
    df_complete, parameter = 1:p, coef = coef(pooled), bse = sqrt(diag(vcov(pooled))),
    df, fmi = (r + 2 / (df + 3)) / (r + 1), mitools_df = pooled$df, mitools_fmi = pooled$missinfo
  ))
}
write.csv(rows, "pool_rubin.csv", row.names = FALSE)
write.csv(data.frame(imputation = rep(1:m, p), parameter = rep(1:p, each = m),
                     coef = c(estimates), bse = c(errors)), "pool_data.csv", row.names = FALSE)

k <- c(1, 1, 3, 4, 2)
d <- sapply(1:p, function(j) rchisq(m, k[j], ncp = 4 * j))
tests <- data.frame()
for (j in 1:p) {
  w <- sqrt(d[, j])
  r2 <- (1 + 1 / m) * sum((w - mean(w))^2) / (m - 1)
  D2 <- (mean(d[, j]) / k[j] - (m + 1) / (m - 1) * r2) / (1 + r2)
  nu <- k[j]^(-3 / m) * (m - 1) * (1 + 1 / r2)^2
  tests <- rbind(tests, data.frame(test = j, k = k[j], D2, nu, p = 1 - pf(D2, k[j], nu)))
}
write.csv(tests, "pool_d2.csv", row.names = FALSE)
write.csv(data.frame(imputation = rep(1:m, p), test = rep(1:p, each = m), d = c(d)),
          "pool_statistics.csv", row.names = FALSE)
writeLines(c(R.version.string, paste("mitools", packageVersion("mitools"))), "pool_VERSIONS.txt")
