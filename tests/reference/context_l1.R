# l1-penalised label models with unpenalised covariates, from glmnet with penalty.factor = 0 for them, on `context_data.csv`
# (made by context.R: four labels, age, sex, region of three levels, five features).
# glmnet rescales penalty factors to add up to the number of columns; here penalties are on the scale of the mean log-likelihood.
options(digits=15); suppressMessages(library(glmnet))
d <- read.csv("context_data.csv"); Y <- as.matrix(d[,1:4]); X <- as.matrix(d[,paste0("x",1:5)])
d$region <- factor(d$region, levels=sort(unique(d$region))); C <- model.matrix(~age+sex+region,d)[,-1]
colnames(C) <- c("age","sex","region[T.north]","region[T.south]")
n <- nrow(d); ctl <- glm.control(epsilon=1e-14,maxit=100)
sds <- function(M) sqrt(colMeans(sweep(M,2,colMeans(M))^2))
l1 <- list(); chosen <- list()
for(features in c(FALSE,TRUE)) for(penalized in c(FALSE,TRUE)) for(k in 1:4){
 Z <- if(features) cbind(Y[,-k],C,X) else cbind(Y[,-k],C); is_cov <- colnames(Z) %in% colnames(C)
 pf <- ifelse(is_cov & !penalized,0,1); up <- ncol(Z)/sum(pf)
 g0 <- if(penalized) glm(Y[,k]~1,binomial,control=ctl) else glm(Y[,k]~C,binomial,control=ctl)
 pull <- abs(crossprod(Z,Y[,k]-fitted(g0)))/n/sds(Z); lmax <- max(pull[pf==1])
 glmnet.control(fdev=0)
 for(ratio in c(.5,.1,.01)){
  g <- glmnet(Z,Y[,k],"binomial",lambda=lmax/up*exp(seq(0,log(ratio),length.out=100)),penalty.factor=pf,thresh=1e-18,maxit=1e8)
  co <- as.matrix(coef(g))[,length(g$lambda)]
  l1[[length(l1)+1]] <- data.frame(features=features,penalized=penalized,label=colnames(Y)[k],ratio=ratio,lambda_max=lmax,term=names(co),coef=co) }
 # The whole path, ended where glmnet ends it, and the fit that EBIC with gamma 0.25 chooses.
 glmnet.control(factory=TRUE)
 g <- glmnet(Z,Y[,k],"binomial",penalty.factor=pf,thresh=1e-16,maxit=1e8)
 b <- as.matrix(coef(g))[-1,]; J <- colSums(b[pf==1,,drop=FALSE]!=0); q <- sum(pf)
 llf <- -deviance(g)/2; ebic <- -2*llf+J*log(n)+2*.25*J*log(q); at <- which.min(ebic)
 chosen[[length(chosen)+1]] <- data.frame(features=features,penalized=penalized,label=colnames(Y)[k],lambda=g$lambda[at]*up,n_lambda=length(g$lambda),
  term=c("(Intercept)",colnames(Z)),coef=as.matrix(coef(g))[,at],llf=llf[at],explained=g$dev.ratio[at]) }
write.csv(do.call(rbind,l1),"context_l1.csv",row.names=FALSE)
write.csv(do.call(rbind,chosen),"context_l1_ebic.csv",row.names=FALSE)
cat(R.version.string,"\nglmnet",as.character(packageVersion("glmnet")),"\n",file="context_l1_VERSIONS.txt")
