#pragma once

#include <string>

namespace fmd::test {

// Two trees, five leaves: x < 2.5 | color in {1} -> right; sex < 0.5. Written as XGBoost
// writes it, shortened.
inline const std::string kXgboost =
    R"({"learner":{"attributes":{},"feature_names":["x","color","sex"],)"
    R"("feature_types":["float","c","float"],"gradient_booster":{"model":{)"
    R"("cats":{"enc":[{},{"offsets":[0,3,8],"values":[114,101,100,103,114,101,101,110]},{}],)"
    R"("feature_segments":[0,0,2,2],"sorted_idx":[1,0]},)"
    R"("gbtree_model_param":{"num_parallel_tree":"1","num_trees":"2"},)"
    R"("iteration_indptr":[0,1,2],"tree_info":[0,0],"trees":[)"
    R"({"base_weights":[0E0,1E-1,2E-1,3E-1,4E-1],"categories":[1],"categories_nodes":[2],)"
    R"("categories_segments":[0],"categories_sizes":[1],"default_left":[1,0,0,0,0],"id":0,)"
    R"("left_children":[1,-1,3,-1,-1],"loss_changes":[1E0,0E0,1E0,0E0,0E0],)"
    R"("parents":[2147483647,0,0,2,2],"right_children":[2,-1,4,-1,-1],)"
    R"("split_conditions":[2.5E0,-1.25E-1,1E-45,5E-1,7.5E-1],"split_indices":[0,0,1,0,0],)"
    R"("split_type":[0,0,1,0,0],"sum_hessian":[9E0,4E0,5E0,2E0,3E0],)"
    R"("tree_param":{"num_deleted":"0","num_feature":"3","num_nodes":"5","size_leaf_vector":"1"}},)"
    R"({"base_weights":[0E0,1E-1,2E-1],"categories":[],"categories_nodes":[],)"
    R"("categories_segments":[],"categories_sizes":[],"default_left":[0,0,0],"id":1,)"
    R"("left_children":[1,-1,-1],"loss_changes":[1E0,0E0,0E0],)"
    R"("parents":[2147483647,0,0],"right_children":[2,-1,-1],)"
    R"("split_conditions":[5E-1,-2.5E-1,2.5E-1],"split_indices":[2,0,0],)"
    R"("split_type":[0,0,0],"sum_hessian":[9E0,4E0,5E0],)"
    R"("tree_param":{"num_deleted":"0","num_feature":"3","num_nodes":"3","size_leaf_vector":"1"}}]},)"
    R"("name":"gbtree"},"learner_model_param":{"base_score":"[5E-1]","boost_from_average":"1",)"
    R"("num_class":"0","num_feature":"3","num_target":"1"},)"
    R"("objective":{"name":"binary:logistic","reg_loss_param":{"scale_pos_weight":"1"}}},)"
    R"("version":[3,2,0]})";

// The same trees as LightGBM writes them.
inline const std::string kLightgbm =
    "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
    "max_feature_idx=2\nobjective=binary sigmoid:1\nfeature_names=x color sex\n"
    "feature_infos=[0:9] 0:1 [0:1]\ntree_sizes=300 200\n\n"
    "Tree=0\nnum_leaves=3\nnum_cat=1\nsplit_feature=0 1\nsplit_gain=1 1\n"
    "threshold=2.5 0\ndecision_type=10 1\nleft_child=-1 -2\nright_child=1 -3\n"
    "leaf_value=-0.125 0.75 0.5\nleaf_weight=4 2 3\nleaf_count=4 2 3\n"
    "internal_value=0 0\ninternal_weight=9 5\ninternal_count=9 5\n"
    "cat_boundaries=0 1\ncat_threshold=2\nis_linear=0\nshrinkage=1\n\n\n"
    "Tree=1\nnum_leaves=2\nnum_cat=0\nsplit_feature=2\nsplit_gain=1\nthreshold=0.5\n"
    "decision_type=8\nleft_child=-1\nright_child=-2\nleaf_value=-0.25 0.25\n"
    "leaf_weight=4 5\nleaf_count=4 5\ninternal_value=0\ninternal_weight=9\n"
    "internal_count=9\nis_linear=0\nshrinkage=0.1\n\n\n"
    "end of trees\n\nfeature_importances:\nx=1\n\nparameters:\n[boosting: gbdt]\n"
    "end of parameters\n\npandas_categorical:[[\"red\", \"green\"]]\n";

// `text` with its first `from` replaced.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  return place == std::string::npos ? "no such text: " + from
                                    : text.replace(place, from.size(), to);
}

}  // namespace fmd::test
