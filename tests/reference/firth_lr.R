# Penalised likelihood ratios of Firth's models, with the design of the larger model under both hypotheses
# (the convention of logistf): brglm2 fits the larger model; under the null its own log-likelihood plus half the
# log determinant of the larger design's information is maximised with the coefficient at zero.
library(brglm2); options(digits = 15)
penalised <- function(b, X, y) { eta <- drop(X %*% b); p <- plogis(eta)
  sum(y * plogis(eta, log.p = TRUE) + (1 - y) * plogis(-eta, log.p = TRUE)) +
    as.numeric(determinant(crossprod(X * sqrt(p * (1 - p))))$modulus) / 2 }
gradient <- function(b, X, y) { p <- plogis(drop(X %*% b)); R <- X * sqrt(p * (1 - p))
  h <- rowSums((R %*% solve(crossprod(R))) * R); drop(crossprod(X, y - p + h * (0.5 - p))) }
out <- list()
for (set in c("rare", "separated")) {
  d <- read.csv(paste0(set, "_data.csv")); ys <- grep("^y", names(d), value = TRUE); xs <- grep("^x", names(d), value = TRUE)
  for (r in ys) for (x in xs) {
    oth <- setdiff(ys, r); f <- as.formula(paste(r, "~", paste(c(oth, x), collapse = "+")))
    g <- glm(f, binomial, d, method = "brglmFit", type = "AS_mean", epsilon = 1e-12, maxit = 1000)
    X <- model.matrix(g); X[, x] <- X[, x] - mean(X[, x]); y <- d[[r]]   # the origin of x changes nothing
    b1 <- coef(g); b1[1] <- b1[1] + b1[x] * mean(d[[x]])
    free <- seq_len(ncol(X) - 1)
    o <- optim(b1[free], function(b) -penalised(c(b, 0), X, y), function(b) -gradient(c(b, 0), X, y)[free],
               method = "BFGS", control = list(reltol = 1e-16, maxit = 1000))
    for (step in 1:5) { b <- c(o$par, 0); p <- plogis(drop(X %*% b)); A <- crossprod(X[, free] * sqrt(p * (1 - p)))
      o$par <- o$par + solve(A, gradient(b, X, y)[free]) }
    out[[length(out) + 1]] <- data.frame(set = set, feature = x, label = r,
      coef = coef(g)[[x]], se = sqrt(vcov(g)[x, x]), lr = 2 * (penalised(b1, X, y) - penalised(c(o$par, 0), X, y)),
      gradient = max(abs(gradient(c(o$par, 0), X, y)[free])))
  }
}
write.csv(do.call(rbind, out), "firth_lr.csv", row.names = FALSE)
cat(R.version.string, "\nbrglm2", as.character(packageVersion("brglm2")), "\n", file = "firth_lr_VERSIONS.txt")
